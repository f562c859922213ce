/* Companion of the native chat input: recall with Up, `/` to focus, and a draft a branch.
 * It draws one hint line; everything else happens in the chat input it finds on the page. */

const BOX = '[data-testid="stChatInputTextArea"]';
const SEND = '[data-testid="stChatInputSubmitButton"]';
const CHIP = '[data-testid="stFileChip"]';
const PREFIX = 'turntree.draft.';
const SENT_WITHIN = 2000; // ms for the box to become empty after Enter
const SAID_FOR = 4000; // ms that a word about a chip stays
const FOLLOWS_SEND = 30000; // ms in which a new branch is taken as the consequence of a send
const UNSAVED = [null, '', 'new']; // the session before its first message is sent
const HINT = [
  ['Enter', 'sends'],
  ['Shift+Enter', 'new line'],
  ['↑', 'recalls'],
  ['+', 'attaches'],
  ['/', 'focuses'],
];

const companions = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  let companion = companions.get(parentElement);
  if (!companion) companions.set(parentElement, (companion = start(parentElement)));
  companion.act = (act) => setTriggerValue('act', { ...act, n: Date.now() * 1000 });
  receive(companion, data);
  companion.parts.then((parts) => parts.forEach((part) => part.update(data)));
  return () => {
    companion.stop();
    companion.parts.then((parts) => parts.forEach((part) => part.destroy()));
    companions.delete(parentElement);
  };
}

function start(parent) {
  const hint = document.createElement('p');
  hint.className = 'hint';
  parent.append(hint);
  const companion = {
    hint, box: null, key: null, session: null, recall: [], walk: null, insert: null,
    quiet: false, sending: null, lastSend: null, focused: false, caret: null,
  };
  const stop = new AbortController();
  const on = (target, type, handle) =>
    target.addEventListener(type, handle, { capture: true, signal: stop.signal });
  on(document, 'input', (event) => isBox(event) && typed(companion, event.target));
  on(document, 'keydown', (event) => keyPressed(companion, event));
  on(document, 'click', (event) => event.target.closest?.(SEND) && beforeSend(companion, event));
  on(document, 'selectionchange', () => rememberCaret(companion));
  on(document, 'pointerdown', (event) => isBox(event) || (companion.lastSend = null));
  on(document, 'focusin', (event) => (companion.focused = isBox(event)));
  on(document, 'focusout', (event) => isBox(event) && lostFocus(companion));
  on(window, 'storage', (event) => otherTabWrote(companion, event));
  companion.parts = parts(companion, parent);
  const watcher = new MutationObserver(() => {
    findBox(companion);
    companion.attached?.look();
  });
  watcher.observe(document.body, { childList: true, subtree: true });
  companion.stop = () => {
    stop.abort();
    watcher.disconnect();
    hint.remove();
  };
  showHint(companion);
  return companion;
}

/* Files and chips have modules of their own; they come by address, as this text has none. */
async function parts(companion, parent) {
  const [{ Attach }, { Chips }, { Unheard }] = await Promise.all(
    ['attach', 'chips', 'unheard'].map((name) =>
      import(new URL(`app/static/composer/${name}.js`, document.baseURI)),
    ),
  );
  const box = () => (companion.box?.isConnected ? companion.box : null);
  const say = (words, warns) => {
    companion.said = words;
    companion.warns = warns;
    showHint(companion);
  };
  const chips = new Chips(parent, {
    act: (act) => companion.act(act),
    box,
    put: (words, at) => putIn(companion, words, at, at),
    say: (words) => {
      say(words, true);
      setTimeout(() => companion.said === words && say('', false), SAID_FOR);
    },
  });
  companion.attached = new Attach(parent, { act: (act) => companion.act(act), say });
  companion.unheard = new Unheard({
    box,
    put: (words) => putIn(companion, words, 0, 0),
    take: () => putIn(companion, '', 0, box().value.length),
    say: (words) => say(words, true),
  });
  return [companion.attached, companion.unheard, chips];
}

function isBox(event) {
  return event.target.matches?.(BOX) === true;
}

/* ---- what the page sends ---- */

function receive(companion, { session_id: session, branch_id: branch, recall, insert }) {
  companion.recall = recall ?? [];
  const key = `${session ?? ''}.${branch ?? ''}`;
  const before = companion.key;
  const sessionBefore = companion.session;
  companion.key = key;
  companion.session = session ?? null;
  if (before === null) findBox(companion);
  else if (before !== key) switchDraft(companion, before, sessionBefore);
  tab().seen.add(key);
  if (insert && insert.n !== tab().inserted) {
    tab().inserted = insert.n;
    companion.insert = insert;
    applyInsert(companion);
  }
}

/* Kept for the life of the tab, across pages: inserts already made, branches already shown. */
function tab() {
  return (window.__turntreeComposer ??= {
    inserted: null, filled: null, seen: new Set(), drafts: new Map(),
  });
}

/* ---- the chat input ---- */

function findBox(companion) {
  if (companion.box?.isConnected) return;
  const box = document.querySelector(BOX);
  if (!box || box === companion.box) return;
  companion.box = box;
  companion.walk = null;
  const draft = readDraft(companion.key);
  const { filled } = tab();
  const foreign = filled?.box === box && filled.key !== companion.key && box.value === filled.text;
  if ((!box.value && draft && !companion.sending) || foreign) fill(companion, draft);
  if (companion.focused && document.activeElement === document.body) {
    box.focus({ preventScroll: true });
    if (companion.caret) box.setSelectionRange(...companion.caret);
  }
  applyInsert(companion);
}

/* React keeps its own copy of the value: only the native setter and an input event reach it. */
function setText(companion, text, caret = text.length) {
  const { box } = companion;
  const { set } = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value');
  companion.quiet = true;
  try {
    set.call(box, text);
    box.dispatchEvent(new Event('input', { bubbles: true }));
  } finally {
    companion.quiet = false;
  }
  box.setSelectionRange(caret, caret);
  box.scrollTop = caret === text.length ? box.scrollHeight : box.scrollTop;
}

/* Show a stored draft. While pages change, the leaving page's companion may meet the coming page's
 * box; what it filled in is remembered, so that the right one can replace it. */
function fill(companion, draft) {
  setText(companion, draft);
  tab().filled = { box: companion.box, key: companion.key, text: draft };
}

function applyInsert(companion) {
  const { box, insert } = companion;
  if (insert === null || !box?.isConnected) return;
  companion.insert = null;
  const at = insert.whole ? 0 : box.selectionStart;
  putIn(companion, insert.text, at, insert.whole ? box.value.length : box.selectionEnd);
}

function putIn(companion, words, from, to) {
  const { box } = companion;
  endWalk(companion);
  const text = box.value.slice(0, from) + words + box.value.slice(to);
  setText(companion, text, from + words.length);
  writeDraft(companion.key, text);
  box.focus();
}

function rememberCaret(companion) {
  const { box } = companion;
  if (!box || document.activeElement !== box) return;
  companion.caret = [box.selectionStart, box.selectionEnd];
}

/* A box the page takes away is still counted as focused: its successor gets the focus back. */
function lostFocus(companion) {
  const { box } = companion;
  queueMicrotask(() => (companion.focused &&= !box?.isConnected));
}

/* ---- keys ---- */

function keyPressed(companion, event) {
  if (event.isComposing || event.defaultPrevented) return;
  if (!isBox(event)) companion.lastSend = null; // a switch from here on is asked for elsewhere
  const bare = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
  if (isBox(event)) {
    if (event.target !== companion.box) companion.box = event.target;
    if (event.key === 'Enter' && bare) beforeSend(companion, event);
    else if (bare && walkRecall(companion, event.key)) {
      event.preventDefault();
      event.stopPropagation();
    }
  } else if (event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey) {
    if (!companion.box?.isConnected || companion.box.disabled) return;
    if (takesText(event.composedPath()[0]) || document.querySelector('[aria-modal="true"]')) return;
    event.preventDefault();
    companion.box.focus();
    companion.box.setSelectionRange(companion.box.value.length, companion.box.value.length);
  }
}

function takesText(target) {
  const field = 'input, textarea, select, [role="textbox"], [role="combobox"]';
  return target instanceof Element && (target.isContentEditable || target.matches(field));
}

/* Returns true when the key moved through the recalled texts. */
function walkRecall(companion, key) {
  const { box, walk } = companion;
  const walking = walk !== null && box.value === walk.texts[walk.at];
  if (!walking) {
    endWalk(companion);
    if (key !== 'ArrowUp' || box.value !== '' || !companion.recall.length) return false;
    companion.walk = { texts: [...companion.recall], at: -1 };
    return show(0);
  }
  if (key === 'ArrowUp') return show(Math.min(walk.at + 1, walk.texts.length - 1));
  if (key === 'ArrowDown') return walk.at === 0 ? leave() : show(walk.at - 1);
  return key === 'Escape' ? leave() : false;

  function show(at) {
    companion.walk.at = at;
    setText(companion, companion.walk.texts[at]);
    showHint(companion);
    return true;
  }

  function leave() {
    endWalk(companion);
    setText(companion, '');
    return true;
  }
}

function endWalk(companion) {
  if (companion.walk === null) return;
  companion.walk = null;
  showHint(companion);
}

/* ---- drafts ---- */

function typed(companion, box) {
  companion.box = box;
  if (companion.quiet) return; // our own change: recalled or restored, not written by the person
  if (companion.walk) endWalk(companion);
  writeDraft(companion.key, box.value);
}

/* Spaces alone are not a message: they are taken away instead of sent. */
function beforeSend(companion, event) {
  const { box, key } = companion;
  const files = document.querySelector(CHIP); // with files, spaces are no words but no harm
  if (!box?.value || box.value.trim() || files) return watchSend(companion);
  event.preventDefault();
  event.stopImmediatePropagation();
  setText(companion, '');
  removeDraft(key, null);
}

/* The draft goes only when the box really was emptied by a send, and only if it is what was sent:
 * another tab may have written another one since. */
function watchSend(companion) {
  const { box, key } = companion;
  const text = box?.value;
  if (!text) return;
  const sending = (companion.sending = { until: Date.now() + SENT_WITHIN });
  const check = () => {
    if (companion.sending !== sending) return;
    const unsent = box.value.startsWith(text); // nothing happened, or more was typed
    if (unsent && box.isConnected && Date.now() < sending.until) {
      setTimeout(check, 30);
      return;
    }
    companion.sending = null;
    if (unsent) return;
    companion.unheard?.sent(text, key);
    removeDraft(key, text);
    companion.lastSend = { key, session: companion.session, at: Date.now() };
    endWalk(companion);
  };
  setTimeout(check, 0);
}

/* Another branch or session is shown: put its own draft in the box. But when a send made the branch
 * and the person has not left the box since, what is being typed follows the conversation there. */
function switchDraft(companion, before, sessionBefore) {
  endWalk(companion);
  findBox(companion);
  const { box, key, lastSend } = companion;
  companion.lastSend = null;
  const draft = readDraft(key);
  const follows =
    lastSend?.key === before && Date.now() - lastSend.at < FOLLOWS_SEND && !tab().seen.has(key) &&
    (sessionBefore === companion.session || UNSAVED.includes(sessionBefore));
  if (!box?.isConnected) return;
  if (follows && !draft && box.value) {
    removeDraft(before, box.value);
    writeDraft(key, box.value);
  } else if (box.value !== draft) {
    fill(companion, draft);
  }
}

/* Two tabs on one branch share one stored draft: the last one writing wins it, the other keeps its
 * own copy for itself. */
function otherTabWrote(companion, { key, oldValue, newValue }) {
  const { box } = companion;
  if (key !== PREFIX + companion.key || !box?.isConnected || !box.value || companion.walk) return;
  if (newValue === null && box.value === oldValue && !document.hasFocus()) {
    setText(companion, ''); // the same words were sent from the other tab
  } else if (newValue !== box.value && newValue !== null) {
    store('sessionStorage', key, box.value);
  }
}

function readDraft(key) {
  const name = PREFIX + key;
  const stored = fetchStored('sessionStorage', name) ?? fetchStored('localStorage', name);
  return stored ?? tab().drafts.get(name) ?? '';
}

function writeDraft(key, text) {
  const name = PREFIX + key;
  if (!text) return removeDraft(key, null);
  if (fetchStored('sessionStorage', name) !== null) store('sessionStorage', name, text);
  if (store('localStorage', name, text)) tab().drafts.delete(name);
  else tab().drafts.set(name, text); // storage is full or forbidden: this tab still remembers
}

/* text: what must be there to be removed; null removes whatever there is. */
function removeDraft(key, text) {
  const name = PREFIX + key;
  store('sessionStorage', name, null);
  tab().drafts.delete(name);
  const mine = text === null || fetchStored('localStorage', name) === text;
  if (mine) store('localStorage', name, null);
}

function fetchStored(area, name) {
  try {
    return window[area].getItem(name);
  } catch {
    return null;
  }
}

function store(area, name, text) {
  try {
    if (text === null) window[area].removeItem(name);
    else window[area].setItem(name, text);
    return true;
  } catch {
    return false;
  }
}

/* ---- the hint ---- */

function showHint({ hint, walk, said, warns }) {
  hint.replaceChildren();
  hint.classList.toggle('said', Boolean(said));
  hint.classList.toggle('warns', Boolean(said && warns));
  if (said) {
    hint.textContent = hint.title = said;
    return;
  }
  hint.removeAttribute('title');
  if (walk && walk.at >= 0) {
    hint.textContent = `Recalling ${walk.at + 1} of ${walk.texts.length} · Esc empties the box`;
    return;
  }
  HINT.forEach(([key, does], k) => {
    const kbd = document.createElement('kbd');
    kbd.textContent = key;
    hint.append(k ? ' · ' : '', kbd, ` ${does}`);
  });
}
