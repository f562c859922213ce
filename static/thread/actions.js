// The row of acts under a turn, and its keys.

import { h, icon, iconButton } from "./dom.js";
import { openMenu } from "./menu.js";
import { textOf } from "./words.js";

/**
 * Every act of a turn. `change` marks acts that a read-only view lacks, `extra` those that
 * move into More on a narrow screen, `tucked` those that are only there, `pressed` toggles.
 */
const ACTS = [
  { key: "fork", picture: "fork", label: "Fork here", change: true },
  {
    key: "edit",
    picture: "edit",
    label: "Edit",
    change: true,
    only: ["user", "assistant", "system"],
  },
  {
    key: "regenerate",
    picture: "regenerate",
    label: "Regenerate",
    change: true,
    only: ["user", "assistant"],
  },
  { key: "copy", picture: "copy", label: "Copy" },
  {
    key: "changes",
    picture: "changes",
    label: "Changes since the previous answer",
    extra: true,
    pressed: (turn) => turn.mode === "changes",
    when: (turn) => Boolean(turn.entry.previous_answer) && turn.entry.role === "assistant",
  },
  {
    key: "final",
    picture: "final",
    label: "Mark final",
    change: true,
    extra: true,
    pressed: (turn) => turn.entry.final,
  },
  {
    key: "raw",
    picture: "raw",
    label: "Raw view",
    extra: true,
    pressed: (turn) => turn.mode === "raw",
  },
  {
    key: "sent",
    picture: "sent",
    label: "What was sent",
    extra: true,
    when: (turn) => Boolean(turn.entry.run?.id),
  },
  {
    key: "pin",
    picture: "pin",
    label: "Always send (pin)",
    change: true,
    extra: true,
    tucked: true,
    pressed: (turn) => turn.entry.pinned,
  },
  {
    key: "mute",
    picture: "mute",
    label: "Never send (mute)",
    change: true,
    extra: true,
    tucked: true,
    pressed: (turn) => turn.entry.muted,
  },
  {
    key: "recap",
    picture: "recap",
    label: "Recap up to here",
    change: true,
    extra: true,
    tucked: true,
  },
  {
    key: "fan",
    picture: "lanes",
    label: "Send to several models from here",
    change: true,
    extra: true,
    tucked: true,
    only: ["user", "assistant"],
  },
  {
    key: "beside",
    picture: "changes",
    label: "Compare with another message\u2026",
    extra: true,
    tucked: true,
    only: ["user", "assistant"],
  },
  {
    key: "replay",
    picture: "replay",
    label: "Replay from this turn on\u2026",
    change: true,
    extra: true,
    tucked: true,
    only: ["user", "assistant"],
  },
  {
    key: "rebase",
    picture: "rebase",
    label: "Change and re-run below\u2026",
    change: true,
    extra: true,
    tucked: true,
    only: ["user"],
  },
  {
    key: "bring",
    picture: "quote",
    label: "Bring into another branch\u2026",
    change: true,
    extra: true,
    tucked: true,
    only: ["assistant"],
  },
  {
    key: "export",
    picture: "export",
    label: "Export\u2026",
    extra: true,
    tucked: true,
    only: ["user", "assistant"],
  },
  { key: "bin", picture: "bin", label: "Move to bin", change: true, extra: true },
];

const KEYS = { f: "fork", e: "edit", r: "regenerate", c: "copy", x: "final", p: "pin", m: "mute", s: "sent", Delete: "bin" };

const shown = (turn) =>
  ACTS.filter(
    (act) =>
      (!act.change || !turn.view.data.readonly) &&
      (!act.only || act.only.includes(turn.entry.role)) &&
      (!act.when || act.when(turn)),
  );

/** Do one act of a turn, by its key in ACTS. */
function perform(turn, key) {
  const { view, entry } = turn;
  const node = entry.id;
  const acts = {
    fork: () => view.act({ action: "fork", node }),
    edit: () => turn.edit(),
    regenerate: () => view.act({ action: "regenerate", node }),
    copy: () => copy(turn),
    changes: () => turn.setMode(turn.mode === "changes" ? "pretty" : "changes"),
    raw: () => turn.setMode(turn.mode === "raw" ? "pretty" : "raw"),
    final: () => {
      // shown at once; the page confirms it
      turn.update({ ...entry, final: !entry.final });
      view.act({ action: "final", node, on: !entry.final });
    },
    pin: () => choose(turn, "pin", "pinned"),
    mute: () => choose(turn, "mute", "muted"),
    sent: () => view.act({ action: "sent", run: entry.run.id }),
    recap: () => view.act({ action: "recap", node }),
    fan: () => view.act({ action: "fan", node }),
    beside: () => view.act({ action: "beside", node }),
    replay: () => view.act({ action: "replay", node }),
    rebase: () => view.act({ action: "rebase", node }),
    bring: () => view.act({ action: "bring_in", node }),
    export: () => view.act({ action: "export", node }),
    bin: () => view.act({ action: "bin", node }),
  };
  acts[key]();
}

/** Pin or mute, or take that back; shown at once, and the page confirms it. One excludes the other. */
function choose(turn, action, mark) {
  const { view, entry } = turn;
  const on = !entry[mark];
  turn.update({ ...entry, pinned: false, muted: false, [mark]: on });
  view.act({ action: on ? action : `un${action}`, node: entry.id });
}

/** Put text on the clipboard, also where the page may not use the clipboard directly. */
export async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** Show a tick on a button for a moment. */
export function tick(button, picture) {
  button?.replaceChildren(icon("check"));
  setTimeout(() => button?.replaceChildren(icon(picture)), 1200);
}

async function copy(turn) {
  await toClipboard(textOf(turn.body));
  tick(turn.actions.querySelector('[data-key="copy"]'), "copy");
  turn.view.announce("Copied");
}

/** The row of buttons of a turn; `refresh()` brings toggles up to date. */
export function actionRow(turn) {
  const row = h("div", { class: "actions", role: "toolbar" });
  let signature = "";
  const build = (acts) => {
    const controls = acts.filter((act) => !act.tucked).flatMap((act) => {
      const button = iconButton(act.picture, act.label, () => perform(turn, act.key), {
        "data-key": act.key,
        class: act.extra ? "act extra" : "act",
      });
      return act.key === "regenerate" ? [button, modelsButton(turn)] : [button];
    });
    row.replaceChildren(...controls, moreButton(turn));
  };
  row.refresh = () => {
    const acts = shown(turn);
    const wanted = acts.map((act) => act.key).join();
    if (wanted !== signature) build(acts);
    signature = wanted;
    row.setAttribute("aria-label", `Actions, ${turn.name}`);
    for (const act of acts) {
      if (!act.pressed || act.tucked) continue;
      const button = row.querySelector(`[data-key="${act.key}"]`);
      button.setAttribute("aria-pressed", String(Boolean(act.pressed(turn))));
    }
  };
  return row;
}

function modelsButton(turn) {
  const label = "Regenerate with another model";
  const open = (event) => {
    const items = turn.view.data.models.map(({ provider, model, label: words }) => ({
      label: words || model,
      name: `Regenerate with ${words || model}`,
      detail: provider,
      run: () => turn.view.act({ action: "regenerate", node: turn.entry.id, provider, model }),
    }));
    if (items.length) openMenu(turn.view.layer, event.currentTarget, "Regenerate with", items);
  };
  return iconButton("down", label, open, {
    class: "act narrow",
    "data-key": "models",
    "aria-haspopup": "menu",
    "aria-expanded": "false",
  });
}

function moreButton(turn) {
  const open = (event) => {
    // where there is room, the others have buttons of their own
    const wide = turn.actions.querySelector(".extra")?.offsetParent;
    const items = shown(turn)
      .filter((act) => (wide ? act.tucked : act.extra))
      .map((act) => ({
        label: act.pressed?.(turn) ? `${act.label} \u2713` : act.label,
        name: act.label,
        icon: act.picture,
        run: () => perform(turn, act.key),
      }));
    openMenu(turn.view.layer, event.currentTarget, "More", items);
  };
  return iconButton("more", "More", open, {
    class: "act more",
    "data-key": "more",
    "aria-haspopup": "menu",
    "aria-expanded": "false",
  });
}

const TYPING = "input, textarea, select, [contenteditable], .scroll, [role=menu]";

/** Keys on a turn that has the focus, or one of whose buttons has it. True if one was used. */
export function turnKey(event, turn) {
  if (event.target.closest(TYPING) || event.ctrlKey || event.metaKey) return false;
  const { view, entry } = turn;
  const step = { ArrowUp: -1, ArrowDown: 1, k: -1, j: 1 }[event.key];
  const plainKey = !event.altKey && !event.shiftKey;
  if (step && (event.altKey ? event.key.startsWith("Arrow") : event.key.length === 1)) {
    view.focus.move(turn.article, step);
    return true;
  }
  if (!plainKey) return false;
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    const target = event.key === "ArrowLeft" ? entry.siblings?.previous : entry.siblings?.next;
    if (target) view.see(target);
    return Boolean(target);
  }
  const key = KEYS[event.key];
  if (!key || !shown(turn).some((act) => act.key === key)) return false;
  perform(turn, key);
  return true;
}
