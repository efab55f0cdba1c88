"""Conversations with agent servers: test cases, a driver, a judge and an assessor."""
