// Message bodies never change, so each is fetched once per tab. Pages of older turns.

const KEPT = 4000;
const BATCH = 50; // the most ids the route takes at once

const cache = new Map();
const coming = new Map();

async function getJson(path, token) {
  const response = await fetch(new URL(path, document.baseURI), {
    headers: { "x-turntree-token": token },
  });
  if (!response.ok) throw new Error(`${response.status} for ${path.split("/")[1]}`);
  return response.json();
}

/** The body of a node if it is here already. */
export function body(id) {
  return cache.get(id);
}

/** Fetch what is missing of some bodies; resolves once all are here, rejects if one is not. */
export async function loadBodies(ids, token) {
  const wanted = ids.filter((id) => !cache.has(id) && !coming.has(id));
  for (let start = 0; start < wanted.length; start += BATCH) {
    const batch = wanted.slice(start, start + BATCH);
    const request = getJson(`api/nodes/${batch.join(",")}`, token)
      .then(({ nodes }) => nodes.forEach(keep))
      .finally(() => batch.forEach((id) => coming.delete(id)));
    for (const id of batch) coming.set(id, request);
  }
  await Promise.all(ids.map((id) => coming.get(id)));
}

function keep(node) {
  cache.set(node.id, node);
  if (cache.size > KEPT) cache.delete(cache.keys().next().value);
}

/** The entries just before `before` on the way to `tip`: `{entries, more}`, oldest first. */
export function olderPage(tip, before, token, limit = 60) {
  return getJson(`api/lineage/${tip}?before=${before}&limit=${limit}`, token);
}
