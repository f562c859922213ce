/* The nodes of each session, fetched once a window and then only what is new.
 * Nodes are immutable, so what is here is never asked for again. */

const ATTEMPTS = 3;

/** The tree kept for a session: ids, index, parent (by position), and the rows as sent. */
export function sessionTree(sessionId, generation) {
  const kept = (window.__turntreeNodes ??= new Map());
  let tree = kept.get(sessionId);
  if (!tree || tree.generation !== generation) {
    tree = emptyTree(generation);
    kept.set(sessionId, tree);
  }
  return tree;
}

function emptyTree(generation) {
  return {
    generation, seq: 0, asked: 0, ids: [], index: new Map(), parent: [], nodes: [], loading: null,
  };
}

/** Add rows [id, parent_id, role, author, snippet, model]; known ids are skipped. */
export function addNodes(tree, rows) {
  for (const row of rows) {
    if (tree.index.has(row[0])) continue;
    tree.index.set(row[0], tree.ids.length);
    tree.parent.push(row[1] == null ? -1 : (tree.index.get(row[1]) ?? -1));
    tree.ids.push(row[0]);
    tree.nodes.push(row);
  }
}

/** Bring the tree up to `seq`. Resolves when done; rejects when the server cannot answer. */
export async function loadUpTo(tree, sessionId, seq, token) {
  while (Math.max(tree.seq, tree.asked) < seq) {
    tree.loading ??= fetchNew(tree, sessionId, seq, token).finally(() => (tree.loading = null));
    await tree.loading;
  }
}

async function fetchNew(tree, sessionId, seq, token) {
  for (let attempt = 0; attempt < ATTEMPTS && tree.seq < seq; attempt++) {
    if (attempt) await new Promise((done) => setTimeout(done, 150 * attempt));
    const url = new URL(`api/tree/${encodeURIComponent(sessionId)}`, document.baseURI);
    url.searchParams.set('after', tree.seq);
    const reply = await fetch(url, { headers: { 'x-turntree-token': token } });
    if (!reply.ok) throw new Error(`the server answered ${reply.status}`);
    const news = await reply.json();
    addNodes(tree, news.nodes);
    tree.seq = Math.max(tree.seq, news.seq);
  }
  tree.asked = seq; // a server that stays behind is not asked again for the same news
}
