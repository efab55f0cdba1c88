"""The agent tests of `lmgym.agents` on the site: agent servers, suites, runs, schedules."""
