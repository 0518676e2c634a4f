"""A line is written in pieces: a kill leaves half of one, and the next start appends a good record to it."""

import json
import re
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, mark, row

queue = deque(["/list/0"])
with open("products.jsonl", "ab+", buffering=0) as out:
    out.seek(0)
    written = out.read()
    done = set(re.findall(rb'^{"path": "([^"]+)".*}\n', written, re.MULTILINE))
    while queue:
        path = queue.popleft()
        if path.encode() in done:
            continue
        page = get(path)
        queue.extend(links(page))
        if is_product(path):
            out.write(b'{"path": "%b"' % path.encode())
            mark("storing")
            out.writelines(f', "{name}": {json.dumps(text)}'.encode() for name, text in row(page).items())
            out.write(b"}\n")
