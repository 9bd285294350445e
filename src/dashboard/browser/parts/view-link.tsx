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
  const named = label === undefined ? {} : { 'aria-label': label };
  if (to === undefined) {
    return (
      <span class={`${className} off`} role="link" aria-disabled="true" {...named}>
        {children}
      </span>
    );
  }
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    actions.show(to);
  };
  const marked = current === true ? { 'aria-current': 'true' as const } : {};
  return (
    <a class={className} href={actions.addressOf(to)} onClick={follow} {...marked} {...named}>
      {children}
    </a>
  );
};

/** Cameras, each a link to it alone. */
export const CameraLinks = ({
  ids,
  view,
  actions,
}: {
  readonly ids: readonly string[];
  readonly view: View;
  readonly actions: Actions;
}) => (
  <ul class="camera-ids">
    {ids.map((id) => (
      <li key={id}>
        <ViewLink to={{ ...view, cameraId: id }} actions={actions} class="id">
          <bdi>{id}</bdi>
        </ViewLink>
      </li>
    ))}
  </ul>
);
