// A file as it will be read. A page stands in a frame that may run nothing and reach nothing.
//
// Streamlit runs the default export again on every change of data, without a cleanup in
// between, and evaluates this text from a blob, so the modules come by absolute address.

const drawn = new WeakMap();

export default function preview({ data, parentElement }) {
  let slot = drawn.get(parentElement);
  if (!slot) {
    const box = document.createElement("div");
    box.className = "thread export-preview";
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    parentElement.append(box);
    slot = { box, body: null, kind: null };
    drawn.set(parentElement, slot);
  }
  slot.box.setAttribute("aria-label", data.label);
  if (slot.body !== data.body || slot.kind !== data.kind) {
    Object.assign(slot, { body: data.body, kind: data.kind });
    slot.box.dataset.kind = data.kind;
    slot.box.tabIndex = data.kind === "page" ? -1 : 0;
    if (data.kind === "page") slot.box.replaceChildren(page(data));
    else if (data.kind === "picture") slot.box.replaceChildren(picture(data));
    else void words(slot, data);
  }
  return () => {
    slot.body = null;
    slot.box.remove();
    drawn.delete(parentElement);
  };
}

function page({ body, label }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", ""); // no script, no form, no other window, an origin of its own
  frame.setAttribute("referrerpolicy", "no-referrer");
  frame.title = label;
  frame.srcdoc = body;
  return frame;
}

function picture({ body, label }) {
  const image = document.createElement("img"); // an SVG in an image runs no script
  image.src = body;
  image.alt = label;
  return image;
}

async function words(slot, { body }) {
  slot.box.setAttribute("aria-busy", "true");
  const at = (name) => import(new URL(`app/static/thread/${name}`, document.baseURI));
  const [{ render }, { watchCode }] = await Promise.all(["markdown.js", "code.js"].map(at));
  if (slot.body !== body) return; // another file stands here by now
  const box = document.createElement("div");
  box.className = "md";
  box.append(render(body));
  slot.box.replaceChildren(box);
  slot.box.scrollTop = 0;
  slot.box.removeAttribute("aria-busy");
  watchCode(slot.box);
}
