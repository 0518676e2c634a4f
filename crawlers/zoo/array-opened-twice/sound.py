"""Lines are appended to, and the array is made of them at the end."""

import json
import re
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row

FEED = Path("products.jsonl")

done = set(re.findall('"path": "([^"]+)"', FEED.read_text())) if FEED.exists() else set()
queue = deque(["/list/0"])
with FEED.open("a") as feed:
    while queue:
        path = queue.popleft()
        if path in done:
            continue
        page = get(path)
        queue.extend(links(page))
        if is_product(path):
            feed.write(json.dumps({"path": path} | row(page)) + "\n")
            feed.flush()
Path("products.new").write_text(json.dumps([json.loads(line) for line in FEED.read_text().splitlines()]))
Path("products.new").replace("products.json")
