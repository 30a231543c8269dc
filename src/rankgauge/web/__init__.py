"""A local app in the browser on judgments and runs: `rankgauge serve`."""
