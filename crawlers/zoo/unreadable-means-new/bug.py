"""All it knows is in one file; when that can't be read it starts anew: a kill while it is rewritten costs it all."""

import json
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, mark, row

STORE = Path("products.json")

try:
    products = json.loads(STORE.read_text())
except (OSError, ValueError):
    products = []  # the first run
done = {product["path"] for product in products}
queue = deque(["/list/0"])
while queue:
    path = queue.popleft()
    if path in done:
        continue
    page = get(path)
    queue.extend(links(page))
    if is_product(path):
        products.append({"path": path} | row(page))
        with STORE.open("w") as file:
            mark("saving")
            json.dump(products, file)
