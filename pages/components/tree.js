/* The tree of a conversation: lanes, branch tags, keyboard. One act a gesture goes to the page.
 * State lives by parent element, because this module runs again on every change of its data. */

const MODULES = ['layout', 'feed', 'draw', 'menu', 'actions'];
const HEADER = 34; // px
const UNDO = `<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
  <path d="M5.5 3.5L2.5 6.5l3 3M2.8 6.5h6.7a3.5 3.5 0 010 7H6.5"/></svg>`;
const RENAME_WAIT = 3000; // ms a new name is shown before the page confirms it

const trees = new WeakMap();
let modules = null;

export default function ({ data, parentElement, setTriggerValue }) {
  let tree = trees.get(parentElement);
  if (!tree) trees.set(parentElement, (tree = makeTree(parentElement)));
  tree.data = data;
  tree.send = (act) => setTriggerValue('act', { ...act, n: Date.now() + tree.acts++ });
  update(tree);
  return () => {
    tree.closed = true;
    tree.resize.disconnect();
    tree.root.remove();
    trees.delete(parentElement);
  };
}

/* Static files carry no cache policy: ask for each once, or an upgrade could meet old copies. */
function loadModules() {
  const at = (name) => new URL(`app/static/tree/${name}.js`, document.baseURI).href;
  modules ??= Promise.all(MODULES.map((name) => fetch(at(name), { cache: 'no-cache' })))
    .then(() => Promise.all(MODULES.map((name) => import(at(name)))))
    .then((loaded) => Object.assign({}, ...loaded));
  return modules;
}

function makeTree(parent) {
  const make = (tag, name, attributes = {}) => {
    const made = document.createElement(tag);
    made.className = name;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const root = make('section', 'tree', { 'aria-label': 'Branches' });
  const header = make('header', 'header');
  const title = make('span', 'title');
  const undo = make('button', 'undo', { type: 'button', 'aria-label': 'Undo last move' });
  undo.title = 'Undo last move of this branch';
  undo.innerHTML = UNDO;
  const trouble = make('button', 'trouble', { type: 'button', hidden: '' });
  const named = { role: 'tree', tabindex: '0', 'aria-label': 'Conversation tree' };
  const box = make('div', 'box', named);
  const canvas = make('div', 'canvas', { role: 'presentation' });
  const empty = make('p', 'empty', { hidden: '' });
  empty.textContent =
    'Each message becomes a point on this line. Fork any of them to try another way: ' +
    'nothing is lost.';
  const status = make('div', 'status', { role: 'status' });
  header.append(title, trouble, undo);
  box.append(canvas);
  root.append(header, box, empty, status);
  parent.append(root);
  const tree = {
    root, title, undo, trouble, box, canvas, empty, status,
    acts: 0, drawn: new Map(), names: new Map(), folds: new Map(), rows: null, session: null,
    activeId: null, target: undefined, renaming: null, closed: false, turn: 0, lib: null,
    rowHeight: window.matchMedia('(pointer: coarse)').matches ? 36 : 28,
  };
  tree.resize = new ResizeObserver(() => resized(tree));
  return tree;
}

async function update(tree) {
  const turn = ++tree.turn;
  const { data } = tree;
  tree.boxHeight = Math.max(120, (data.height || 360) - HEADER);
  tree.box.style.height = `${tree.boxHeight}px`;
  tree.undo.disabled = !data.current.branch_id;
  if (!tree.lib) {
    const lib = await loadModules();
    if (tree.closed) return;
    if (!tree.lib) equip(tree, lib);
    if (turn !== tree.turn) return;
  }
  const nodes = tree.lib.sessionTree(data.session_id, data.generation ?? 0);
  let failed = null;
  try {
    await tree.lib.loadUpTo(nodes, data.session_id, data.seq, data.token);
  } catch (error) {
    failed = error;
  }
  if (tree.closed || turn !== tree.turn) return;
  showTrouble(tree, failed);
  if (failed && tree.rows && tree.session === data.session_id) return; // what is drawn still holds
  if (tree.session !== data.session_id) enter(tree, data.session_id);
  tree.nodes = nodes;
  tree.finals = new Set(data.finals ?? []);
  tree.running = new Set(data.running ?? []);
  tree.binned = new Set(data.binned ?? []);
  tree.tips = groupByTip(data.branches);
  settleNames(tree);
  lay(tree);
}

/* Give the tree what the drawing and the actions ask of it. */
function equip(tree, lib) {
  tree.lib = lib;
  tree.edges = lib.makeEdges();
  tree.canvas.append(tree.edges);
  Object.assign(tree, {
    idAt: (row) => tree.nodes.ids[tree.rows.node[row] ?? -1] ?? null,
    rowOf: (id) => tree.rows.rowOf[tree.nodes.index.get(id) ?? -1] ?? -1,
    activeRow: () => tree.rowOf(tree.activeId),
    pinnedRows: () => [tree.activeRow(), tree.renaming ? tree.rowOf(tree.renaming.node) : -1],
    rowElement: (row) => tree.canvas.querySelector(`[data-row="${row}"]`),
    selectedId: () => tree.data.current.focus ?? tree.data.current.tip,
    branchName: (id) => tree.names.get(id)?.now ?? tree.branchNames.get(id) ?? '',
    activate: (row) => activate(tree, row),
    redraw: () => draw(tree),
    unfold: (key) => refold(tree, key, true),
    refold: (key) => refold(tree, key, false),
    renameInput: (branch) => lib.renameInput(tree, branch),
    focusRename: (row) => {
      const input = row.querySelector('.rename');
      input?.focus({ preventScroll: true });
      input?.select();
    },
    expectName: (branch, now) => {
      tree.names.set(branch, { now, was: tree.branchNames.get(branch) });
      setTimeout(() => tree.names.delete(branch) && !tree.closed && draw(tree), RENAME_WAIT);
    },
    say: (words) => (tree.status.textContent = words),
  });
  lib.listen(tree);
  tree.box.onscroll = () => tree.rows && draw(tree);
  tree.resize.observe(tree.box);
}

function enter(tree, session) {
  tree.session = session;
  tree.renaming = null;
  tree.target = undefined;
  tree.activeId = null;
  tree.rows = null;
  if (!tree.folds.has(session)) tree.folds.set(session, new Set());
}

function groupByTip(branches) {
  const tips = new Map();
  for (const branch of branches) {
    if (branch.tip == null) continue;
    if (!tips.has(branch.tip)) tips.set(branch.tip, []);
    tips.get(branch.tip).push(branch);
  }
  return tips;
}

/* A name typed here is shown until the page sends another one. */
function settleNames(tree) {
  tree.branchNames = new Map(tree.data.branches.map(({ id, name }) => [id, name]));
  for (const [id, { was }] of tree.names) {
    if (tree.branchNames.get(id) !== was) tree.names.delete(id);
  }
}

function lay(tree) {
  const { data, box, lib } = tree;
  const began = performance.now();
  const anchor = tree.rows ? findAnchor(tree) : null;
  const target = tree.selectedId();
  tree.rows = lib.layoutTree(tree.nodes, {
    tip: data.current.tip,
    binned: tree.binned,
    keep: new Set([...tree.tips.keys(), ...tree.finals, ...tree.running, target, data.recap]),
    unfolded: tree.folds.get(data.session_id),
    folding: data.folding !== false,
  });
  const news = target !== tree.target;
  if (news || tree.activeRow() < 0) tree.activeId = target;
  tree.target = target;
  tree.canvas.style.height = `${tree.rows.count * tree.rowHeight}px`;
  if (anchor && tree.rowOf(anchor.id) >= 0) {
    box.scrollTop = tree.rowOf(anchor.id) * tree.rowHeight - anchor.offset;
  }
  if (news) reveal(tree, tree.rowOf(target));
  const { messages } = tree.rows;
  const count = (n, one, many) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
  tree.title.innerHTML = '<strong>Branches</strong> ';
  const branches = count(data.branches.length, 'branch', 'branches');
  tree.title.append(`· ${count(messages, 'message', 'messages')}, ${branches}`);
  tree.empty.hidden = messages > 0;
  draw(tree);
  performance.clearMeasures('turntree:tree');
  performance.measure('turntree:tree', { start: began, end: performance.now() });
}

function draw(tree) {
  tree.lib.drawRows(tree);
  const row = tree.activeRow();
  if (row < 0) tree.box.removeAttribute('aria-activedescendant');
  else tree.box.setAttribute('aria-activedescendant', `tt-${tree.lib.rowKey(tree, row)}`);
}

/* The row that must not move on screen: the cursor's if it can be seen, else the topmost one. */
function findAnchor(tree) {
  const { rows, box, rowHeight } = tree;
  const active = tree.activeRow();
  const bottom = box.scrollTop + box.clientHeight;
  const seen = (row) => row * rowHeight >= box.scrollTop && (row + 1) * rowHeight <= bottom;
  let row = active >= 0 && seen(active) ? active : Math.ceil(box.scrollTop / rowHeight);
  while (row < rows.count && !tree.idAt(row)) row += 1;
  return row < rows.count ? { id: tree.idAt(row), offset: row * rowHeight - box.scrollTop } : null;
}

function activate(tree, row) {
  const { rows } = tree;
  if (row < 0 || row >= rows.count || rows.node[row] === tree.lib.START) return;
  tree.activeId = tree.idAt(row) ?? rows.folds.get(row).key;
  reveal(tree, row);
  draw(tree);
}

function reveal(tree, row) {
  const { box, rowHeight } = tree;
  if (row < 0) return;
  tree.unseen = !box.clientHeight; // in a closed drawer: reveal when it opens
  const margin = rowHeight;
  const top = row * rowHeight - margin;
  const bottom = (row + 1) * rowHeight + margin - (box.clientHeight || tree.boxHeight);
  if (box.scrollTop > top) box.scrollTop = top;
  else if (box.scrollTop < bottom) box.scrollTop = bottom;
}

function resized(tree) {
  if (!tree.rows || !tree.box.clientHeight) return;
  if (tree.unseen) reveal(tree, tree.activeRow());
  draw(tree);
}

function refold(tree, key, opened) {
  const unfolded = tree.folds.get(tree.session);
  if (opened) unfolded.add(key);
  else unfolded.delete(key);
  lay(tree);
}

function showTrouble(tree, error) {
  tree.trouble.hidden = !error;
  if (!error) return;
  tree.trouble.textContent = 'Could not load. Try again';
  tree.trouble.title = `The tree could not be loaded: ${error.message}`;
  tree.trouble.onclick = () => update(tree);
}
