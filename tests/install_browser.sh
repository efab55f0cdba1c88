#!/bin/sh
# Puts Chromium in place for the browser tests where that can be done without asking; otherwise says how.
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing Chromium for the browser tests"
    if apt-get update -qq >/dev/null && {
        apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null 2>&1 ||
            apt-get install -y -qq --no-install-recommends chromium >/dev/null
    }; then
        exit 0
    fi
fi
echo "No Chromium here: the browser tests will be skipped. On Debian: sudo apt-get install chromium"
