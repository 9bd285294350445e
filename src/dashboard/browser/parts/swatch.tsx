/** A small mark in a line's colour; the words beside it say the same. */
export const Swatch = ({ colour }: { readonly colour: string }) => (
  <span class="swatch" aria-hidden="true" style={{ backgroundColor: colour }} />
);
