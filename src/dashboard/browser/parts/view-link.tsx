import type { ComponentChildren } from 'preact';

import type { Span, View } from '../model/view.ts';
import { useShown } from './shown.ts';

/** Scrolls to an element and moves the focus to it. */
export const goTo = (element: HTMLElement | null): void => {
  element?.scrollIntoView({ block: 'start' });
  element?.focus({ preventScroll: true });
};

interface ViewLinkProps {
  /** Undefined: the words stay, without a link. */
  readonly to: View | undefined;
  readonly class?: string;
  readonly id?: string | undefined;
  readonly current?: boolean;
  readonly label?: string | undefined;
  /** Called after the page has drawn the view. */
  readonly onFollowed?: () => void;
  readonly children: ComponentChildren;
}

/** A real link, which a reader can copy or open in another tab. A plain click stays on the page. */
export const ViewLink = ({
  to,
  class: className = 'button',
  current,
  id,
  label,
  onFollowed,
  children,
}: ViewLinkProps) => {
  const { actions } = useShown();
  const follow = (event: MouseEvent): void => {
    if (to === undefined || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
      return;
    event.preventDefault();
    actions.show(to);
    onFollowed?.();
  };
  return (
    <a
      class={to === undefined ? `${className} off` : className}
      {...(to === undefined ? { role: 'link' as const } : { href: actions.addressOf(to) })}
      aria-disabled={to === undefined}
      aria-current={current === true ? 'true' : undefined}
      id={id}
      aria-label={label}
      onClick={follow}
    >
      {children}
    </a>
  );
};

interface CameraLinkProps {
  readonly id: string;
  readonly span?: Span;
  readonly current?: boolean;
}

/** A link to a camera alone, or from it to all cameras. The figures are far above most of these links. */
export const CameraLink = ({ id, span, current = false }: CameraLinkProps) => {
  const { view } = useShown();
  const to = { ...view, cameraId: current ? undefined : id, span: span ?? view.span };
  return (
    <ViewLink to={to} class="id" current={current} onFollowed={() => goTo(document.getElementById('shown'))}>
      <bdi>{id}</bdi>
    </ViewLink>
  );
};
