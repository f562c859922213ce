// Putting children in order without touching those that are in place already.

/** Make `wanted` the children of `parent`, in that order; what is there stays untouched. */
export function arrange(parent, wanted) {
  const kept = new Set(wanted);
  for (const child of [...parent.childNodes]) if (!kept.has(child)) child.remove();
  let at = parent.firstChild;
  for (const element of wanted) {
    if (element === at) at = at.nextSibling;
    else parent.insertBefore(element, at);
  }
}
