"""Follows each link of the built site to its page and its anchor. docfx does so for the links that Markdown has."""
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = {""}, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values.get("id"), values.get("name")}
        self.links += [values[name] for name in ("href", "src") if values.get(name)]


site = Path(sys.argv[1]).resolve()
pages = {path: Page(path) for path in site.rglob("*.html")}
dead = []
count = 0
for path, page in pages.items():
    for link in page.links:
        address, anchor = urldefrag(link)
        if ":" in address:
            continue  # another site's
        count += 1
        target = (path.parent / unquote(address)).resolve() if address else path
        if not target.is_file():
            dead.append(f"{path.relative_to(site)}: {link}: there is no such file")
        elif target in pages and unquote(anchor) not in pages[target].anchors:
            dead.append(f"{path.relative_to(site)}: {link}: the page has no such anchor")

print("\n".join(dead))
print(f"{count} links of {len(pages)} pages, {len(dead)} of them dead.")
sys.exit(1 if dead or not count else 0)
