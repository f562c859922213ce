/* Drawing of the visible rows: one SVG for the lines, one keyed element a row. */

import { FOLD, START, edgesBetween } from './layout.js';

const SVG = 'http://www.w3.org/2000/svg';
const OVERSCAN = 6;
const WIDE_LANES = 6; // lanes beyond these stand closer together
const STAR = 'M8 1.6l1.9 4 4.4.6-3.2 3 .8 4.3L8 11.4l-3.9 2.1.8-4.3-3.2-3 4.4-.6z';
const DOTS = 'M3 8h.01M8 8h.01M13 8h.01';

/** Distance of a lane's line from the left edge, in px. */
export function laneX(lane) {
  return 15 + 16 * Math.min(lane, WIDE_LANES) + 7 * Math.max(0, lane - WIDE_LANES);
}

/** An inline icon: a 16x16 stroked path. */
export function icon(path, filled = false) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', filled ? 'icon filled' : 'icon');
  const line = svg.appendChild(document.createElementNS(SVG, 'path'));
  line.setAttribute('d', path);
  return svg;
}

export function element(tag, className, attributes = {}) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** The element that holds the lines, to be placed once in the canvas. */
export function makeEdges() {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', 'edges');
  svg.setAttribute('aria-hidden', 'true');
  for (const name of ['dim', 'lit']) {
    svg.appendChild(document.createElementNS(SVG, 'path')).setAttribute('class', name);
  }
  return svg;
}

/** Draw the rows that can be seen (and the one with the keyboard cursor) into tree.canvas. */
export function drawRows(tree) {
  const { rows, box, canvas, rowHeight } = tree;
  canvas.style.height = `${rows.count * rowHeight}px`;
  const from = Math.max(0, Math.floor(box.scrollTop / rowHeight) - OVERSCAN);
  const seen = Math.ceil((box.clientHeight || tree.boxHeight) / rowHeight);
  const to = Math.min(rows.count - 1, from + seen + 2 * OVERSCAN);
  const wanted = new Set();
  for (let row = from; row <= to; row++) wanted.add(row);
  for (const row of tree.pinnedRows()) if (row >= 0 && row < rows.count) wanted.add(row);

  const gone = new Set(tree.drawn.keys());
  let before = tree.edges; // elements stay in reading order, for screen readers
  for (const row of [...wanted].sort((a, b) => a - b)) {
    const key = rowKey(tree, row);
    gone.delete(key);
    before = placeRow(tree, key, row, before);
  }
  for (const key of gone) {
    tree.drawn.get(key).remove();
    tree.drawn.delete(key);
  }
  drawEdges(tree, from, to);
}

/** A name for a row that outlives a new layout. */
export function rowKey(tree, row) {
  const node = tree.rows.node[row];
  if (node >= 0) return tree.nodes.ids[node];
  return node === START ? 'start' : `fold-${tree.rows.folds.get(row).key}`;
}

function placeRow(tree, key, row, before) {
  let made = tree.drawn.get(key);
  if (!made) {
    made = element('div', 'row', { id: `tt-${key}` });
    tree.drawn.set(key, made);
  }
  const inUse = tree.renaming && made.querySelector('.rename'); // moving it would end the renaming
  if (before.nextElementSibling !== made && !inUse) before.after(made);
  made.dataset.row = row;
  made.style.top = `${row * tree.rowHeight}px`;
  const shown = describe(tree, row);
  const signature = JSON.stringify(shown);
  if (made.signature !== signature && !(inUse && shown.renaming)) {
    made.signature = signature;
    fillRow(tree, made, shown);
  }
  return made;
}

/* Everything a row shows, as plain values: two equal descriptions need no new drawing. */
function describe(tree, row) {
  const { rows, nodes, data } = tree;
  const node = rows.node[row];
  const place = {
    lane: rows.lane[row],
    level: rows.level[row],
    position: rows.position[row],
    siblings: rows.siblings[row],
    active: row === tree.activeRow(),
  };
  if (node === START) return { ...place, kind: 'start' };
  if (node === FOLD) return { ...place, kind: 'fold', ...rows.folds.get(row) };
  const [id, , role, author, snippet, model] = nodes.nodes[node];
  return {
    ...place,
    kind: 'node',
    id,
    role,
    edited: author === 'hand-edited',
    snippet: snippet || '(empty)',
    model: role === 'assistant' ? model : null,
    onPath: rows.onPath[node] === 1,
    tip: id === data.current.tip,
    selected: id === tree.selectedId(),
    final: tree.finals.has(id),
    running: tree.running.has(id),
    recapped: id === data.recap,
    branches: (tree.tips.get(id) ?? []).map(({ id: branch, note, winner }) => ({
      id: branch,
      note: note || '',
      winner: Boolean(winner),
      name: tree.branchName(branch),
      current: branch === data.current.branch_id,
    })),
    renaming: tree.renaming && tree.renaming.node === id ? tree.renaming.branch : null,
  };
}

function fillRow(tree, row, shown) {
  row.className = 'row';
  for (const name of ['active', 'onPath', 'tip', 'selected', 'running', 'final', 'recapped', 'renaming']) {
    if (shown[name]) row.classList.add(name);
  }
  row.classList.add(shown.kind, shown.role ?? 'none');
  row.style.setProperty('--x', `${laneX(shown.lane)}px`);
  row.removeAttribute('aria-current');
  row.removeAttribute('aria-expanded');
  if (shown.kind === 'start') return fillStart(row);
  row.setAttribute('role', 'treeitem');
  row.setAttribute('aria-level', shown.level);
  row.setAttribute('aria-posinset', shown.position);
  row.setAttribute('aria-setsize', shown.siblings);
  if (shown.kind === 'fold') return fillFold(row, shown);
  row.setAttribute('aria-selected', String(shown.selected));
  row.setAttribute('aria-label', rowName(shown));
  if (shown.tip) row.setAttribute('aria-current', 'true');
  const text = element('span', 'text');
  text.textContent = shown.snippet;
  text.title = shown.snippet;
  const parts = [shown.final ? starDot() : element('span', 'dot'), text];
  if (shown.model || shown.edited) {
    const model = element('span', 'model', { title: shown.model ?? '' });
    model.textContent = shown.edited ? 'edited' : shown.model.split('/').pop();
    parts.push(model);
  }
  if (shown.recapped) parts.push(recapMark());
  parts.push(...chips(tree, shown), moreButton(shown));
  row.replaceChildren(...parts);
  if (shown.renaming) tree.focusRename(row);
}

function fillStart(row) {
  row.setAttribute('role', 'presentation');
  const text = element('span', 'text');
  text.textContent = 'Start';
  row.replaceChildren(element('span', 'dot'), text);
}

function fillFold(row, { count }) {
  row.setAttribute('aria-expanded', 'false');
  row.setAttribute('aria-selected', 'false');
  row.setAttribute('aria-label', `${count} messages folded`);
  const text = element('span', 'text');
  text.textContent = `${count} messages`;
  text.title = 'Show them';
  row.replaceChildren(element('span', 'dot'), text);
}

/** What a screen reader says for a row: who, the first words, and the marks. */
export function rowName(shown) {
  const who = { user: 'You', assistant: 'Assistant', system: 'System', tool: 'Tool' }[shown.role];
  const marks = [
    shown.edited && 'edited by hand',
    shown.final && 'final',
    shown.recapped && 'a recap stands in up to here',
    shown.running && 'being answered',
    ...shown.branches.map(
      ({ name, current, winner }) =>
        `tip of ${current ? 'the current branch' : 'branch'} ${name}${winner ? ', a winner' : ''}`,
    ),
  ].filter(Boolean);
  const model = shown.model ? ` (${shown.model})` : '';
  return `${who ?? shown.role}${model}: ${[shown.snippet, ...marks].join(', ')}`;
}

function starDot() {
  const dot = element('span', 'dot star');
  dot.title = 'Final';
  dot.append(icon(STAR, true));
  return dot;
}

function recapMark() {
  const mark = element('span', 'model recap');
  mark.textContent = 'recap';
  mark.title = 'A recap stands in for everything up to here';
  return mark;
}

function chips(tree, { branches, renaming }) {
  if (!branches.length) return [];
  const holder = element('span', 'chips');
  const ordered = [...branches].sort((a, b) => b.current - a.current);
  const first = ordered.find(({ id }) => id === renaming) ?? ordered[0];
  if (renaming) {
    holder.append(tree.renameInput(first));
    return [holder];
  }
  const chip = element('button', first.current ? 'chip current' : 'chip', {
    type: 'button',
    tabindex: '-1',
    'aria-label': first.current ? `Branch ${first.name}, current` : `Branch ${first.name}`,
    title: first.note ? `${first.name}\n${first.note}` : first.name,
    'data-branch': first.id,
  });
  chip.textContent = first.name;
  if (first.winner) {
    chip.prepend(icon(STAR, true));
    chip.title = `${chip.title}\nWinner of a comparison`;
  }
  holder.append(chip);
  if (ordered.length > 1) {
    const others = element('button', 'chip others', {
      type: 'button',
      tabindex: '-1',
      'aria-label':
        ordered.length > 2
          ? `${ordered.length - 1} more branches end here`
          : '1 more branch ends here',
      'aria-haspopup': 'menu',
      title: ordered.slice(1).map(({ name }) => name).join('\n'),
    });
    others.textContent = `+${ordered.length - 1}`;
    holder.append(others);
  }
  return [holder];
}

function moreButton(shown) {
  const button = element('button', 'more', {
    type: 'button',
    tabindex: shown.active ? '0' : '-1',
    'aria-label': 'More',
    'aria-haspopup': 'menu',
    title: 'More',
    'data-node': shown.id,
  });
  button.append(icon(DOTS));
  return button;
}

function drawEdges(tree, from, to) {
  const { rows, edges, rowHeight: h } = tree;
  const top = from * h;
  const { lines, curves } = edgesBetween(rows, from, to);
  const y = (row) => row * h + h / 2 - top;
  const clamp = (row) => Math.max(from - 1, Math.min(to + 1, row));
  let dim = '';
  for (const { lane, top: a, bottom: b } of lines) {
    dim += `M${laneX(lane)} ${y(clamp(a))}V${y(clamp(b))}`;
  }
  for (const { row, from: a, to: b } of curves) {
    const [x0, y0, x1, y1] = [laneX(a), y(row - 1), laneX(b), y(row)];
    dim += `M${x0} ${y0}C${x0} ${y0 + h * 0.62} ${x1} ${y1 - h * 0.62} ${x1} ${y1}`;
  }
  const path = rows.tipRow > 0 && rows.tipRow >= from; // lane 0 from the first row to the tip
  const lit = path ? `M${laneX(0)} ${y(clamp(0))}V${y(clamp(rows.tipRow))}` : '';
  edges.style.top = `${top}px`;
  edges.style.height = `${(to - from + 1) * h}px`;
  edges.style.width = `${laneX(rows.lanes) + 4}px`;
  edges.children[0].setAttribute('d', dim);
  edges.children[1].setAttribute('d', lit);
}
