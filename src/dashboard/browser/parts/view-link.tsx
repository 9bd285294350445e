import type { ComponentChildren } from 'preact';

import type { Span, View } from '../model/view.ts';
import { goTo, useShown } from './shown.ts';

interface ViewLinkProps {
  /** Undefined: there is nothing to go to. The words stay, without a link. */
  readonly to: View | undefined;
  readonly class?: string;
  readonly id?: string;
  /** What is shown now is what the link leads to. */
  readonly current?: boolean;
  readonly label?: string;
  /** Called when the page shows it. */
  readonly onFollowed?: () => void;
  readonly children: ComponentChildren;
}

/** A real link, so that a view opens in another tab or is copied as every link is; a plain click stays on the page. */
export const ViewLink = ({
  to,
  class: className = 'button',
  id,
  current = false,
  label,
  onFollowed,
  children,
}: ViewLinkProps) => {
  const { actions } = useShown();
  const named = { ...(id === undefined ? {} : { id }), ...(label === undefined ? {} : { 'aria-label': label }) };
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
    onFollowed?.();
  };
  const marked = current ? { 'aria-current': 'true' as const } : {};
  return (
    <a class={className} href={actions.addressOf(to)} onClick={follow} {...marked} {...named}>
      {children}
    </a>
  );
};

/** A camera as a link to it alone, or from it to all. */
export const CameraLink = ({
  id,
  span,
  current = false,
}: {
  readonly id: string;
  readonly span?: Span;
  readonly current?: boolean;
}) => {
  const { view } = useShown();
  const to = { ...view, cameraId: current ? undefined : id, span: span ?? view.span };
  return (
    <ViewLink to={to} class="id" current={current} onFollowed={showFigures}>
      <bdi>{id}</bdi>
    </ViewLink>
  );
};

/** The figures of the camera are far above most links to it. */
const showFigures = (): void => goTo(document.querySelector<HTMLElement>('#shown'));

/** Cameras, each a link to it alone. */
export const CameraLinks = ({ ids }: { readonly ids: readonly string[] }) => (
  <ul class="camera-ids">
    {ids.map((id) => (
      <li key={id}>
        <CameraLink id={id} />
      </li>
    ))}
  </ul>
);
