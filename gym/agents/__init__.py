"""Agent tests (`lmgym.agents`) on the site: agent servers, suites, runs, schedules."""
