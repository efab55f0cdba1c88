"""ProPara evaluation (`lmgym.propara`) on the site: answer sets, submissions, leaderboards."""
