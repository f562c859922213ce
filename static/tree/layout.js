/* Lane layout of a conversation tree, like `git log --graph`. Pure: no page, no state.
 *
 * The current path (root to tip) is lane 0 and nothing else is. At a fork the side subtrees come
 * first, one lane further right, and the main child goes on in its parent's lane. The main child is
 * the one on the current path, elsewhere the heaviest, so n nodes never need more than
 * 2 + log2(n) lanes and no line ever crosses another. O(n) time and memory.
 *
 * Long runs without a fork beside the current path are folded into one row.
 */

export const START = -1; // the row above several first messages
export const FOLD = -2; // the row that stands for a folded run
const SHORTEST_FOLD = 6; // messages; fewer are not worth hiding

/**
 * tree: {ids: string[], parent: int[]} with parents before children (-1: no parent).
 * view: {tip, binned:Set, keep:Set (ids never folded), unfolded:Set (fold keys), folding:bool}.
 * Returns one entry a row in node, lane, level, parentRow, end, position, siblings; `rowOf` by node
 * index (-1: hidden); `folds` row -> {key, count}; `runs` row -> key of an opened fold.
 */
export function layoutTree(tree, view) {
  const links = linkChildren(tree, view.binned);
  const path = markPath(tree, links, view.tip);
  const out = emptyRows(links, tree.parent.length);
  walk(tree, view, links, path, out);
  const tipRow = path.tip < 0 ? -1 : out.rowOf[path.tip];
  return { ...out, messages: links.visible, onPath: path.on, tipRow };
}

/* First child, next sibling (oldest first), subtree size; index n stands above all. */
function linkChildren({ ids, parent }, binned) {
  const n = parent.length;
  const hidden = new Uint8Array(n + 1);
  for (let i = 0; i < n; i++) {
    hidden[i] = binned.has(ids[i]) || (parent[i] >= 0 && hidden[parent[i]]) ? 1 : 0;
  }
  const first = new Int32Array(n + 1).fill(-1);
  const next = new Int32Array(n + 1).fill(-1);
  const size = new Int32Array(n + 1);
  const children = new Int32Array(n + 1);
  for (let i = n - 1; i >= 0; i--) {
    if (hidden[i]) continue;
    const above = parent[i] < 0 ? n : parent[i];
    size[i] += 1;
    size[above] += size[i];
    children[above] += 1;
    next[i] = first[above];
    first[above] = i;
  }
  return { first, next, size, children, hidden, visible: size[n] };
}

function markPath({ parent, index }, { hidden }, tipId) {
  const n = parent.length;
  const on = new Uint8Array(n + 1);
  const tip = tipId == null ? -1 : (index.get(tipId) ?? -1);
  if (tip < 0 || hidden[tip]) return { on, tip: -1 };
  for (let i = tip; i >= 0; i = parent[i]) on[i] = 1;
  on[n] = 1;
  return { on, tip };
}

/* The child that goes on in the same lane, or -1 (the tip: whatever follows is another branch). */
function mainChild(node, { first, next, size }, path) {
  let best = -1;
  for (let child = first[node]; child >= 0; child = next[child]) {
    if (path.on[node]) {
      if (path.on[child]) return child;
    } else if (best < 0 || size[child] >= size[best]) {
      best = child;
    }
  }
  return best;
}

function emptyRows({ visible }, n) {
  const rows = visible + 1;
  return {
    count: 0,
    lanes: 1,
    node: new Int32Array(rows),
    lane: new Int32Array(rows),
    level: new Int32Array(rows),
    parentRow: new Int32Array(rows),
    end: new Int32Array(rows), // last row this row's own lane line reaches straight down
    position: new Int32Array(rows),
    siblings: new Int32Array(rows),
    rowOf: new Int32Array(n).fill(-1),
    folds: new Map(),
    runs: new Map(),
  };
}

function walk(tree, view, links, path, out) {
  const top = tree.parent.length;
  const stack = []; // node, lane, parentRow, position: four numbers an entry
  const side = [];
  if (links.children[top] > 1) {
    emit(out, START, 0, -1, 1, 1);
    pushChildren(top, 0, 0);
  } else if (links.first[top] >= 0) {
    stack.push(links.first[top], 0, -1, 1);
  }
  let runLeft = 0; // messages of the current run whose folding is already decided
  let runKey = null;
  while (stack.length) {
    const position = stack.pop();
    const parentRow = stack.pop();
    let lane = stack.pop();
    let node = stack.pop();
    const above = tree.parent[node] < 0 ? top : tree.parent[node];
    let row = emit(out, node, lane, parentRow, position, links.children[above]);
    out.rowOf[node] = row;
    if (runLeft > 0) {
      runLeft -= 1;
      out.runs.set(row, runKey);
    } else if (view.folding) {
      const run = runBelow(node, tree, view, links, path);
      if (run.count >= SHORTEST_FOLD) {
        runKey = tree.ids[links.first[node]];
        if (view.unfolded.has(runKey)) {
          runLeft = run.count;
          out.runs.set(row, runKey);
        } else {
          [node, row] = foldRun(out, links, node, row, lane, run.count, runKey);
        }
      }
    }
    pushChildren(node, lane, row);
  }

  function pushChildren(node, lane, row) {
    const main = mainChild(node, links, path);
    side.length = 0;
    for (let child = links.first[node]; child >= 0; child = links.next[child]) {
      if (child !== main) side.push(child);
    }
    if (main >= 0) stack.push(main, lane, row, side.length + 1);
    for (let k = side.length - 1; k >= 0; k--) stack.push(side[k], lane + 1, row, k + 1);
  }
}

/* How many messages right below `node` only carry the line on. */
function runBelow(node, tree, view, links, path) {
  let count = 0;
  if (!plain(node)) return { count };
  for (let i = links.first[node]; plain(i); i = links.first[i]) count += 1;
  return { count };

  function plain(i) {
    return !path.on[i] && links.children[i] === 1 && !view.keep.has(tree.ids[i]);
  }
}

function foldRun(out, links, node, parentRow, lane, count, key) {
  const row = emit(out, FOLD, lane, parentRow, 1, 1);
  out.folds.set(row, { key, count });
  let last = node;
  for (let k = 0; k < count; k++) {
    last = links.first[last];
    out.rowOf[last] = row;
  }
  return [last, row];
}

function emit(out, node, lane, parentRow, position, siblings) {
  const row = out.count++;
  out.node[row] = node;
  out.lane[row] = lane;
  out.parentRow[row] = parentRow;
  out.level[row] = parentRow < 0 ? 1 : out.level[parentRow] + 1;
  out.end[row] = row;
  out.position[row] = position;
  out.siblings[row] = siblings;
  if (lane >= out.lanes) out.lanes = lane + 1;
  if (parentRow >= 0) {
    const reach = lane === out.lane[parentRow] ? row : row - 1;
    if (reach > out.end[parentRow]) out.end[parentRow] = reach;
  }
  return row;
}

/** What touches rows from..to: lines [{lane, top, bottom}] and curves [{row, from, to}]. */
export function edgesBetween(rows, from, to) {
  const lines = [];
  const curves = [];
  for (let q = from < rows.count ? rows.parentRow[from] : -1; q >= 0; q = rows.parentRow[q]) {
    if (rows.end[q] >= from) lines.push({ lane: rows.lane[q], top: q, bottom: rows.end[q] });
  }
  for (let row = from; row <= Math.min(to + 1, rows.count - 1); row++) {
    if (rows.end[row] > row) lines.push({ lane: rows.lane[row], top: row, bottom: rows.end[row] });
    const above = rows.parentRow[row];
    if (above >= 0 && rows.lane[above] !== rows.lane[row]) {
      curves.push({ row, from: rows.lane[above], to: rows.lane[row] });
    }
  }
  return { lines, curves };
}
