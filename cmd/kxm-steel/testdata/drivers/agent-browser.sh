# agent-browser starts a program that stays; it is ended here, whatever becomes of the rest.
export HOME="$1"
browser() { "$AGENT_BROWSER" --session kxm-test --cdp "$KXM_STEEL_CDP_URL" "$@"; }
trap 'browser close >/dev/null 2>&1' EXIT
browser open "$2" >/dev/null || exit 9
echo "title: $(browser get title)"
browser snapshot | grep -q 'textbox "Password"' && echo "pages: 2 1"
browser close >/dev/null && echo "title: Shop login"
