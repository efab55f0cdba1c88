"""Compare LM Gym's sheet with Tabulator in one browser.

    npm install --prefix benchmarks/grid --ignore-scripts     # once; the folder is not part of the repository
    .venv/bin/python -m benchmarks.grid.run [--repeat 5]

Prints the table of docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gym.settings")
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

import django

django.setup()

from playwright.sync_api import sync_playwright  # noqa: E402

from tests.browser import grid_fake  # noqa: E402

HERE = Path(__file__).parent
VENDOR = HERE / "node_modules" / "tabulator-tables" / "dist"
KINDS = ("LM Gym", "Tabulator")
SIZES = {152: (38, 4), 5000: (1250, 4)}
KEYS = {"move": "ArrowDown", "type": "x", "take over": "Enter"}


class Handler(grid_fake.Handler):
    """Request handler that sends no content security policy, because Tabulator would violate it."""

    def do_GET(self) -> None:
        if self.path == "/":
            self._send(200, (HERE / "bench.html").read_bytes(), "text/html; charset=utf-8")
        elif self.path == "/bench/bench.js":
            self._send(200, (HERE / "bench.js").read_bytes(), "text/javascript")
        elif self.path.startswith("/vendor/"):
            kind = "text/css" if self.path.endswith(".css") else "text/javascript"
            self._send(200, (VENDOR / self.path.removeprefix("/vendor/")).read_bytes(), kind)
        else:
            super().do_GET()

    def send_header(self, keyword: str, value: str) -> None:
        if keyword != "Content-Security-Policy":
            super().send_header(keyword, value)


def keys(page: Any) -> dict[str, list[float]]:
    """Time ten repetitions of down, a letter, Enter. Both sheets start after a paste at the first cell."""
    times: dict[str, list[float]] = {name: [] for name in KEYS}
    page.evaluate("sheet.focus()")
    is_own = page.evaluate("!document.querySelector('.tabulator')")
    for _ in range(10):
        for name, key in KEYS.items():
            if name == "type" and not is_own:
                page.keyboard.press("Enter")  # Tabulator edits after Enter, LM Gym at the first letter
                page.wait_for_timeout(30)
            page.evaluate("window.times = []")
            page.keyboard.press(key)
            page.wait_for_timeout(60)
            times[name] += [ms for _, ms in page.evaluate("window.times")][:1]
    return times


def measure(page: Any, repeat: int) -> dict[tuple[str, int, str], list[float]]:
    times: dict[tuple[str, int, str], list[float]] = {}
    for _ in range(repeat):
        for rows, (items, conditions) in SIZES.items():
            for kind in KINDS:
                opened = page.evaluate("args => bench.start(...args)", [kind, items, conditions])
                times.setdefault((kind, rows, "open"), []).append(opened["open"])
                pasted = page.evaluate("() => bench.paste()")
                assert pasted["first"] == "pasted 0 0", (kind, pasted)
                times.setdefault((kind, rows, "paste 1,350 cells"), []).append(pasted["ms"])
                for name, key_times in keys(page).items():
                    times.setdefault((kind, rows, name), []).extend(key_times)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    if not VENDOR.is_dir():
        sys.exit("Tabulator is missing: npm install --prefix benchmarks/grid --ignore-scripts")
    server = grid_fake.Server(("127.0.0.1", 0), Handler)
    import threading

    threading.Thread(target=server.serve_forever, daemon=True).start()
    path = next(p for n in ("chromium-headless-shell", "chromium", "google-chrome") if (p := shutil.which(n)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.on("pageerror", lambda error: print("error:", error, file=sys.stderr))
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.wait_for_function("window.bench")
        page.evaluate("bench.listen()")
        measure(page, 1)  # warm up
        times = measure(page, repeat)
        print(f"Chromium {browser.version}, {os.cpu_count()} cores, medians of {repeat} rounds, ms\n")
        browser.close()
    server.shutdown()
    names = list(dict.fromkeys(name for _, _, name in times))
    print("| | rows | " + " | ".join(names) + " |\n|---|---|" + "---|" * len(names))
    for rows in SIZES:
        for kind in KINDS:
            values = [f"{statistics.median(times[kind, rows, name]):.0f}" for name in names]
            print(f"| {kind} | {rows:,} | " + " | ".join(values) + " |")


if __name__ == "__main__":
    main()
