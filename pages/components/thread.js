// The thread element: hands the data of each rerun to the view that draws it.
//
// Streamlit runs the default export again on every change of data, without a cleanup in
// between, and evaluates this text from a blob, so the modules come by absolute address.

const views = new WeakMap();

function modules() {
  return import(new URL("app/static/thread/thread.js", document.baseURI));
}

function failed(parent) {
  const note = document.createElement("p");
  note.setAttribute("role", "alert");
  note.textContent = "The conversation could not be drawn. Reload the page to try again.";
  parent.append(note);
}

export default function thread(component) {
  const parent = component.parentElement;
  let slot = views.get(parent);
  if (slot) {
    slot.latest = component;
    slot.view?.update(component);
  } else {
    slot = { latest: component, view: null, gone: false };
    views.set(parent, slot);
    modules().then(
      ({ Thread }) => {
        if (slot.gone) return;
        slot.view = new Thread(parent);
        slot.view.update(slot.latest);
      },
      () => failed(parent),
    );
  }
  return () => {
    slot.gone = true;
    slot.view?.destroy();
    views.delete(parent);
  };
}
