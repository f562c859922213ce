/* What a person can do on a row: keys, clicks, the menu, renaming. Each ends in one act. */

import { element } from './draw.js';
import { FOLD, START } from './layout.js';
import { openMenu } from './menu.js';

const LONGEST_NAME = 80;
const MAC = /Mac|iPhone|iPad/.test(navigator.platform);
const UNDO_KEYS = MAC ? { keys: 'Meta+Z', hint: '⌘Z' } : { keys: 'Control+Z', hint: 'Ctrl Z' };
const BIN_KEYS = MAC ? { keys: 'Meta+Backspace', hint: '⌘⌫' } : { keys: 'Delete', hint: 'Del' };
const PAGE = 10; // rows for Page Up and Page Down

/** Wire the tree's box and header once. */
export function listen(tree) {
  tree.box.onkeydown = (event) => {
    if (event.target === tree.box && pressed(tree, event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  tree.canvas.onclick = (event) => clicked(tree, event);
  tree.canvas.oncontextmenu = (event) => {
    const row = rowAt(event);
    if (row < 0 || event.target.closest('.rename')) return;
    event.preventDefault();
    tree.activate(row);
    openRowMenu(tree, row, event.clientX, event.clientY);
  };
  tree.undo.onclick = () => undo(tree, tree.data.current.branch_id);
}

function rowAt(event) {
  const row = event.target.closest?.('.row');
  return row && !row.classList.contains('start') ? Number(row.dataset.row) : -1;
}

function clicked(tree, event) {
  const row = rowAt(event);
  if (row < 0 || event.target.closest('.rename')) return;
  const button = event.target.closest('button');
  const place = button?.getBoundingClientRect(); // before the row is drawn anew
  tree.activate(row);
  if (button?.dataset.branch) tree.send({ action: 'branch', branch: button.dataset.branch });
  else if (button) return openRowMenu(tree, row, place.right - 8, place.bottom + 2);
  else open(tree, row);
  tree.box.focus({ preventScroll: true });
}

/* Returns true when the key meant something here. */
function pressed(tree, event) {
  const { rows } = tree;
  const row = tree.activeRow();
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    if (MAC && event.key === 'Backspace') return bin(tree, row);
    if (event.key.toLowerCase() !== 'z') return false;
    return undo(tree, tree.data.current.branch_id);
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !rows.count) return false;
  if (event.key === 'ContextMenu' || (event.key === 'F10' && event.shiftKey)) {
    return openMenuAt(tree, row);
  }
  const target = {
    ArrowUp: row - 1,
    ArrowDown: row + 1,
    ArrowLeft: row < 0 ? row : rows.parentRow[row],
    ArrowRight: row + 1 < rows.count && rows.parentRow[row + 1] === row ? row + 1 : row,
    PageUp: Math.max(rows.node[0] === START ? 1 : 0, row - PAGE),
    PageDown: Math.min(rows.count - 1, row + PAGE),
    Home: rows.node[0] === START ? 1 : 0,
    End: rows.count - 1,
  }[event.key];
  if (event.key === 'ArrowRight' && rows.node[row] === FOLD) return open(tree, row);
  if (target !== undefined) return tree.activate(target) || true;
  if (event.key === 'Enter' || event.key === ' ') return open(tree, row);
  // A key held down asks once.
  if (event.key === 'f' || event.key === 'F') return event.repeat || fork(tree, row);
  if (event.key === 'F2') return renameOn(tree, row);
  if (event.key === 'Delete') return bin(tree, row);
  return false;
}

function open(tree, row) {
  if (row < 0) return true;
  if (tree.rows.node[row] === FOLD) tree.unfold(tree.rows.folds.get(row).key);
  else tree.send({ action: 'view', node: tree.idAt(row) });
  return true;
}

function fork(tree, row) {
  const node = tree.idAt(row);
  if (node) tree.send({ action: 'fork', node });
  return true;
}

function undo(tree, branch) {
  if (branch) tree.send({ action: 'undo', branch });
  return true;
}

function bin(tree, row) {
  const node = tree.idAt(row);
  if (!node) return true;
  const other = (tree.tips.get(node) ?? []).find(({ id }) => id !== tree.data.current.branch_id);
  if (other) tree.send({ action: 'bin_branch', branch: other.id });
  else tree.send({ action: 'bin', node });
  return true;
}

function renameOn(tree, row) {
  const node = tree.idAt(row);
  const here = (node && tree.tips.get(node)) || [];
  const branch = here.find(({ id }) => id === tree.data.current.branch_id) ?? here[0];
  if (branch) startRename(tree, node, branch.id);
  else tree.say('No branch ends on this row.');
  return true;
}

function startRename(tree, node, branch) {
  tree.renaming = { node, branch };
  tree.redraw();
}

/** The input that takes the place of a branch's tag. */
export function renameInput(tree, { id, name }) {
  const input = element('input', 'rename', {
    type: 'text',
    'aria-label': 'Branch name',
    maxlength: LONGEST_NAME,
    spellcheck: 'false',
    autocomplete: 'off',
  });
  input.value = name;
  let done = false;
  const close = (save) => {
    if (done) return;
    done = true;
    const chosen = input.value.trim().replace(/\s+/g, ' ').slice(0, LONGEST_NAME);
    const kept = tree.box.getRootNode().activeElement === input;
    tree.renaming = null;
    if (save && chosen && chosen !== name) {
      tree.expectName(id, chosen);
      tree.send({ action: 'rename', branch: id, name: chosen });
    }
    tree.redraw();
    if (kept) tree.box.focus({ preventScroll: true });
  };
  input.onkeydown = (event) => {
    event.stopPropagation();
    if (event.isComposing) return;
    if (event.key === 'Enter') close(true);
    if (event.key === 'Escape') {
      event.preventDefault();
      close(false);
    }
  };
  input.onblur = () => close(true);
  return input;
}

function openMenuAt(tree, row) {
  const place = row < 0 ? null : tree.rowElement(row)?.getBoundingClientRect();
  if (place) openRowMenu(tree, row, place.left + 40, place.bottom + 2);
  return true;
}

function openRowMenu(tree, row, x, y) {
  const node = tree.idAt(row);
  const items = node ? nodeItems(tree, row, node) : foldItems(tree, row);
  tree.rowElement(row)?.classList.add('menued');
  openMenu(tree.root, {
    label: 'Message actions',
    items,
    x,
    y,
    onClose(chosen) {
      tree.root.querySelector('.menued')?.classList.remove('menued');
      if (!chosen) tree.box.focus({ preventScroll: true });
    },
  });
}

function foldItems(tree, row) {
  return [{ label: 'Show these messages', run: () => open(tree, row) }];
}

function nodeItems(tree, row, node) {
  const current = tree.data.current.branch_id;
  const here = (tree.tips.get(node) ?? []).map(({ id }) => ({ id, name: tree.branchName(id) }));
  const named = (label, name) => (here.length > 1 ? `${label} “${name}”` : label);
  const undoable = here.find(({ id }) => id === current) ?? here[0] ?? { id: current };
  const other = here.find(({ id }) => id !== current);
  const run = tree.rows.runs.get(row);
  return [
    { label: 'Fork here', keys: 'F', hint: 'F', run: () => fork(tree, row) },
    ...here.filter(({ id }) => id !== current).map(({ id, name }) => ({
      label: `Go to branch “${name}”`,
      run: () => tree.send({ action: 'branch', branch: id }),
    })),
    ...here.map(({ id, name }, k) => ({
      label: named('Rename branch', name),
      ...(k ? {} : { keys: 'F2', hint: 'F2' }),
      run: () => startRename(tree, node, id),
    })),
    ...here.flatMap(({ id, name }) => [
      {
        label: named('Replay branch\u2026', name),
        run: () => tree.send({ action: 'replay', branch: id }),
      },
      {
        label: named('Carry turns onto another branch\u2026', name),
        run: () => tree.send({ action: 'pick', branch: id }),
      },
    ]),
    {
      label: 'Compare with\u2026',
      run: () => tree.send({ action: 'beside', node }),
    },
    ...here.map(({ id, name }) => ({
      label: named('Draft history', name),
      run: () => tree.send({ action: 'drafts', branch: id }),
    })),
    ...here.map(({ id, name }) => ({
      label: named('Export branch\u2026', name),
      run: () => tree.send({ action: 'export', branch: id }),
    })),
    ...(run ? [{ label: 'Fold these messages', run: () => tree.refold(run) }] : []),
    ...(undoable.id
      ? [{ label: 'Undo last move', ...UNDO_KEYS, run: () => undo(tree, undoable.id) }]
      : []),
    'line',
    ...here.map(({ id, name }) => ({
      label: named('Move branch to bin', name),
      danger: true,
      ...(id === other?.id ? BIN_KEYS : {}),
      run: () => tree.send({ action: 'bin_branch', branch: id }),
    })),
    {
      label: 'Move from here down to bin',
      danger: true,
      ...(other ? {} : BIN_KEYS),
      run: () => tree.send({ action: 'bin', node }),
    },
  ];
}
