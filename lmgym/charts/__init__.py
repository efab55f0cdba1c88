"""Charts of results as SVG, styled by the page or standalone for a paper."""
