// The head of a lane: its name, model and settings, a tick for follow-ups, Stop, a menu; and
// its facts, which scroll away beneath it.

import { h, icon, iconButton, textButton } from "../thread/dom.js";
import { openMenu } from "../thread/menu.js";
import { FINISH } from "../thread/words.js";

export class Head {
  #signature = "";
  #renaming = null;

  constructor(lane) {
    this.lane = lane;
    const { id } = lane.told;
    this.tick = h("input", {
      type: "checkbox",
      class: "tick",
      onchange: () => lane.board.follow.tick(id, this.tick.checked),
    });
    this.name = h("span", { class: "lane-name", dir: "auto" });
    this.badge = h("span", { class: "badge accent", hidden: true }, icon("check"), "kept");
    this.menu = iconButton("more", "Lane", (event) => this.#open(event), {
      tabindex: 0,
      "aria-haspopup": "menu",
      "aria-expanded": "false",
    });
    this.model = h("span", { class: "lane-model" });
    this.stop = h(
      "button",
      { type: "button", class: "button stop lane-stop", onclick: () => this.#stop() },
      icon("stop"),
      "Stop",
    );
    this.label = h("label", { class: "lane-label" }, this.tick, this.name);
    this.element = h(
      "div",
      { class: "head lane-part", role: "group", "data-lane": id },
      h("div", { class: "head-line" }, this.label, this.badge, this.menu),
      h("div", { class: "head-line" }, this.model, this.stop),
    );
    this.facts = h("div", { class: "facts lane-part", role: "group", "data-lane": id });
  }

  destroy() {
    this.#renaming = null;
  }

  update(told) {
    const { board } = this.lane;
    const stoppable = this.lane.stoppable();
    this.stop.hidden = !stoppable;
    if (!stoppable) this.stop.disabled = false;
    this.tick.checked = board.follow.ticked(told.id);
    this.tick.disabled = board.data.lanes.length < 2;
    const signature = JSON.stringify([told, board.data.blind]);
    if (signature === this.#signature) return;
    this.#signature = signature;
    this.element.setAttribute("aria-label", `Lane ${told.name}`);
    this.name.textContent = told.name;
    this.name.title = told.name;
    this.tick.setAttribute("aria-label", `Follow up in ${told.name}`);
    this.stop.setAttribute("aria-label", `Stop ${told.name}`);
    this.menu.setAttribute("aria-label", `Menu of ${told.name}`);
    this.menu.title = "Open, keep, rename, drop";
    this.badge.hidden = !told.kept;
    this.menu.hidden = board.data.blind;
    this.#drawModel(told);
    this.#drawFacts(told);
  }

  #drawModel({ model, provider, stands_out: differs }) {
    this.model.hidden = !model;
    this.model.classList.toggle("differs", differs);
    this.model.textContent = [provider, model].filter(Boolean).join(" \u00b7 ");
    this.model.title = this.model.textContent;
  }

  #drawFacts({ name, differences, facts, sums, finish }) {
    this.facts.setAttribute("aria-label", `Facts of ${name}`);
    const chips = differences.map(({ label, value, whole }) =>
      h(
        "span",
        { class: "setting", title: `${label}: ${whole}` },
        h("span", { class: "setting-label", text: label }),
        h("span", { text: value }),
      ),
    );
    const rows = facts.map(({ label, value }) =>
      h("div", { class: "fact" }, h("dt", { text: label }), h("dd", { text: value, title: value })),
    );
    const ended = FINISH[finish];
    const badge = ended
      ? h("span", { class: "badge warn" }, icon("alert"), ended.words)
      : h("span", { class: "badge mark" }, icon("check"), "answered");
    this.facts.replaceChildren(
      ...(chips.length ? [h("div", { class: "settings", "aria-label": "Settings that differ" }, ...chips)] : []),
      ...(rows.length ? [h("dl", { class: "fact-list" }, ...rows)] : []),
      ...(finish || sums
        ? [
            h(
              "div",
              { class: "sums" },
              finish ? badge : null,
              sums ? h("span", { class: "muted", text: sums }) : null,
            ),
          ]
        : []),
    );
  }

  #stop() {
    const run = this.lane.stoppable();
    if (!run) return;
    this.stop.disabled = true;
    this.lane.board.act({ action: "stop", run, lane: this.lane.told.id });
  }

  #open(event) {
    const { board, told } = this.lane;
    const act = (action) => () => board.act({ action, lane: told.id });
    openMenu(board.layer, event.currentTarget, `Menu of ${told.name}`, [
      { label: "Open in the playground", icon: "latest", run: act("open") },
      told.kept
        ? { label: "Keep no longer", icon: "final", run: act("unkeep") }
        : { label: "Keep as main", icon: "final", run: act("keep") },
      { label: "Rename", icon: "edit", run: () => this.#rename() },
      { label: "Drop", icon: "bin", run: act("drop") },
    ]);
  }

  #rename() {
    if (this.#renaming) return this.#renaming.focus();
    const { board, told } = this.lane;
    const field = h("input", {
      type: "text",
      class: "rename",
      maxlength: 80,
      "aria-label": `New name of ${told.name}`,
    });
    field.value = told.name;
    const done = (save) => {
      if (!this.#renaming) return;
      this.#renaming = null;
      const name = field.value.trim();
      field.replaceWith(this.name);
      if (save && name && name !== this.lane.told.name)
        board.act({ action: "rename", lane: told.id, name });
    };
    field.addEventListener("click", (event) => event.preventDefault());
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") done(true);
      else if (event.key === "Escape") done(false);
    });
    field.addEventListener("blur", () => done(true));
    this.#renaming = field;
    this.name.replaceWith(field);
    field.select();
    field.focus();
    return undefined;
  }
}

/** A button that brings a dropped lane back. */
export function bringBack(board, { id, name }) {
  const words = board.data.blind ? "a lane" : name;
  return textButton(words, () => board.act({ action: "join", lane: id }), {
    class: "link",
    "data-key": `join-${id}`,
    "aria-label": `Bring back ${words}`,
    title: "Bring this lane back",
  });
}
