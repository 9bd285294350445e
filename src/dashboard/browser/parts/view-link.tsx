import type { ComponentChildren } from 'preact';

import type { View } from '../model/view.ts';
import type { Actions } from './actions.ts';

/** What a link to a view needs. */
export interface ViewLinkProps {
  /** Where it is undefined, there is nothing to go to: the words stay, the link does not. */
  readonly to: View | undefined;
  readonly actions: Actions;
  readonly class?: string;
  /** What is shown now is what the link leads to. */
  readonly current?: boolean;
  readonly label?: string;
  readonly children: ComponentChildren;
}

/** A real link, so that a view opens in another tab or is copied as every link is; a plain click stays on the page. */
export const ViewLink = ({ to, actions, class: className = 'button', current, label, children }: ViewLinkProps) => {
  if (to === undefined) {
    return (
      <span
        class={`${className} off`}
        role="link"
        aria-disabled="true"
        {...(label === undefined ? {} : { 'aria-label': label })}
      >
        {children}
      </span>
    );
  }
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    actions.show(to);
  };
  return (
    <a
      class={className}
      href={actions.addressOf(to)}
      onClick={follow}
      {...(current === true ? { 'aria-current': 'true' as const } : {})}
      {...(label === undefined ? {} : { 'aria-label': label })}
    >
      {children}
    </a>
  );
};
