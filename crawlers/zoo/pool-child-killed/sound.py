"""concurrent.futures sees that a child was killed: map raises BrokenProcessPool, and the crawl starts anew."""

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shop import get, is_product, links, row


def fetch(path: str) -> dict[str, str]:
    return row(get(path))


out = Path("out.jsonl")
if out.exists():
    sys.exit()
queue = ["/list/0"]
for path in queue:
    if not is_product(path):
        queue += links(get(path))
with ProcessPoolExecutor(2) as pool:
    rows = list(pool.map(fetch, filter(is_product, queue), chunksize=1))
out.with_suffix(".new").write_text("".join(json.dumps(found) + "\n" for found in rows))
out.with_suffix(".new").replace(out)
