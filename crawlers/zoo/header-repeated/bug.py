"""Each start writes the header of its CSV file, which goes on where the last one ended."""

import csv
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import FIELDS, get, is_product, links, row

FEED = Path("products.csv")

lines = FEED.read_text(encoding="utf-8").splitlines() if FEED.exists() else []
done = {entry["path"] for entry in csv.DictReader(lines)}
queue = deque(["/list/0"])
with FEED.open("a", encoding="utf-8", newline="") as file:
    out = csv.DictWriter(file, ("path", *FIELDS))
    out.writeheader()
    while queue:
        path = queue.popleft()
        if path in done:
            continue
        page = get(path)
        queue.extend(links(page))
        if is_product(path):
            out.writerow({"path": path} | row(page))
            file.flush()
