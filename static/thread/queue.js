// Messages that wait for their turn: paused, let go on, reworded, in another order, taken back.

import { h, icon, iconButton, textButton } from "./dom.js";
import { counted, visible } from "./words.js";

const key = (id) => `turntree.queued.${id}`;
const editors = new WeakMap(); // view -> Map: id of a message -> its open edit box

/** The cards of the queue, as elements. */
export function queueCards(view, data) {
  const all = data.queue ?? [];
  const queue = all.filter(({ state }) => state !== "stopped");
  const stopped = all.filter(({ state }) => state === "stopped");
  settle(view, data, queue);
  return [
    queue.length && !data.readonly ? head(view, queue, Boolean(data.live)) : null,
    ...queue.map((item, index) => card(view, data, item, { index, queue })),
    stopped.length && !data.readonly ? takenBack(view, stopped) : null,
  ];
}

function head(view, queue, answering) {
  const waiting = queue.filter(({ state }) => state === "waiting").length;
  const held = queue.length - waiting;
  const words = [waiting ? `${waiting} waiting` : "", held ? `${held} held` : ""];
  const act = (action) => () => view.act({ action });
  const goes = answering ? "Each goes out when the answer before it is there" : "Sends the next one";
  return h(
    "div",
    { class: "queue-head", role: "group", "aria-label": "Queue" },
    h("span", { class: "muted", text: `Queue \u00b7 ${words.filter(Boolean).join(", ")}` }),
    h(
      "div",
      { class: "card-bar" },
      waiting
        ? textButton("Pause", act("queue_pause"), {
            "data-key": "queue-pause",
            title: "Send nothing more by itself; an answer on its way goes on",
          })
        : null,
      held
        ? textButton("Resume", act("queue_resume"), {
            class: "button primary",
            "data-key": "queue-resume",
            title: goes,
          })
        : null,
      textButton("Take all back", act("queue_stop"), {
        title: "Empty the queue; the words stay at hand",
      }),
    ),
  );
}

function card(view, data, item, place) {
  const open = boxes(view).get(item.id) ?? reopened(view, data, item);
  return h(
    "div",
    {
      class: "card queued",
      role: "group",
      "aria-label": "Queued message",
      "data-queue-id": item.id,
    },
    icon("clock"),
    open ? open.element : wordsOf(item),
    data.readonly || open ? null : bar(view, data, item, place),
  );
}

function wordsOf(item) {
  return h(
    "div",
    { class: "card-words plain", dir: "auto" },
    h("span", { class: "muted", text: item.state === "held" ? "Held: " : "Queued: " }),
    visible([item.text, ...(item.files ?? []).map((name) => `[${name}]`)].join(" ").trim()),
  );
}

function bar(view, data, item, { index, queue }) {
  const count = queue.length;
  const firstHeld = queue.find(({ state }) => state === "held");
  const shift = (by) => () => view.act({ action: "queue_shift", id: item.id, by });
  const reachable = (props) => ({ tabindex: 0, ...props });
  return h(
    "div",
    { class: "card-bar" },
    item === firstHeld
      ? textButton("Send now", () => view.act({ action: "send_queued", id: item.id }))
      : null,
    iconButton("edit", "Reword this message", () => edit(view, data, item), reachable({})),
    count > 1
      ? iconButton("up", "Send this one earlier", shift(-1), reachable({ disabled: !index }))
      : null,
    count > 1
      ? iconButton("down", "Send this one later", shift(1), reachable({ disabled: index === count - 1 }))
      : null,
    textButton("Take back", () => view.act({ action: "unqueue", id: item.id })),
  );
}

function takenBack(view, stopped) {
  const act = (action) => () => view.act({ action });
  return h(
    "div",
    { class: "card queued", role: "group", "aria-label": "Taken back" },
    icon("clock"),
    h(
      "div",
      { class: "card-words plain", dir: "auto" },
      h("span", { class: "muted", text: `${counted(stopped.length, "message")} taken back: ` }),
      visible(stopped.map(({ text }) => text).join(" \u00b7 ")),
    ),
    h(
      "div",
      { class: "card-bar" },
      textButton("Put back", act("queue_back"), { class: "button primary" }),
      textButton("Into the composer", act("queue_compose")),
      textButton("Throw away", act("queue_discard")),
    ),
  );
}

// --- rewording ---------------------------------------------------------------------------

function boxes(view) {
  if (!editors.has(view)) editors.set(view, new Map());
  return editors.get(view);
}

function edit(view, data, item) {
  const box = editBox(view, data, item, item.text);
  boxes(view).set(item.id, box);
  view.redrawExtras();
  box.area.focus();
}

/** The box that was open before the page was loaded anew. */
function reopened(view, data, item) {
  const text = remembered(item.id);
  if (text === null || text === item.text || data.readonly) return null;
  const box = editBox(view, data, item, text);
  boxes(view).set(item.id, box);
  return box;
}

function editBox(view, data, item, text) {
  const area = h("textarea", { class: "edit-area", dir: "auto", "aria-label": "Reword this message" });
  area.value = text;
  const box = { area, branch: data.branch_id, before: item.text, saved: null };
  const close = () => {
    forget(view, item.id);
    view.redrawExtras();
  };
  const save = () => {
    if (!area.value.trim() && !item.files?.length) return;
    if (area.value === item.text) return close();
    box.saved = area.value; // the box stays until these words are seen to have arrived
    view.act({ action: "queue_reword", id: item.id, text: area.value });
  };
  area.addEventListener("input", () => remember(item.id, area.value));
  area.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  const buttons = [
    textButton("Cancel", close),
    textButton("Save", save, { class: "button primary", title: "Ctrl+Enter" }),
  ];
  box.element = h("div", { class: "card-words editing" }, area, h("div", { class: "editor-bar" }, buttons));
  return box;
}

/** Close boxes whose words have arrived. What went out meanwhile must not take words with it. */
function settle(view, data, queue) {
  for (const [id, box] of boxes(view)) {
    const item = queue.find((one) => one.id === id);
    if (item && box.saved !== null && item.text === box.saved) forget(view, id);
    else if (item) keepFocus(view, box.area);
    else if (box.branch === data.branch_id) {
      forget(view, id);
      const words = box.area.value;
      if (box.saved === null && words.trim() && words !== box.before)
        setTimeout(() => view.act({ action: "queue_reword", id, text: words }));
    }
  }
}

/** A box that is drawn again is put into the page anew, and would lose the focus. */
function keepFocus(view, area) {
  if (area.getRootNode().activeElement !== area) return;
  const caret = [area.selectionStart, area.selectionEnd];
  queueMicrotask(() => {
    if (!area.isConnected) return;
    area.focus({ preventScroll: true });
    area.setSelectionRange(...caret);
  });
}

function forget(view, id) {
  boxes(view).delete(id);
  remember(id, null);
}

function remembered(id) {
  try {
    return sessionStorage.getItem(key(id));
  } catch {
    return null;
  }
}

function remember(id, text) {
  try {
    if (text === null) sessionStorage.removeItem(key(id));
    else sessionStorage.setItem(key(id), text);
  } catch {
    // A full or forbidden storage costs only the safety net, not the edit.
  }
}
