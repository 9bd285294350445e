/** Scrolls to an element and moves the focus to it. */
export const goTo = (element: HTMLElement | null): void => {
  element?.scrollIntoView({ block: 'start' });
  element?.focus({ preventScroll: true });
};
