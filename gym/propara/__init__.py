"""The ProPara evaluator of `lmgym.propara` on the site: answer sets, submissions, leaderboards."""
