import type { PageState } from './page-state.ts';
import { SILENT_MINUTES } from './spans.ts';

/** A camera that sent frames in the last days and sends none now. */
export interface SilentCamera {
  readonly id: string;
  /** The start of the minute of its last frame, ISO 8601. */
  readonly lastAt: string;
}

export interface Silence {
  /** The silent cameras, the latest first. */
  readonly cameras: readonly SilentCamera[];
  /** The number of known cameras that send. */
  readonly sending: number;
}

const timeOf = ({ lastAt }: SilentCamera): number => Date.parse(lastAt);

/** The silent cameras at `now` (milliseconds since 1970); undefined until the service has answered. */
export const silenceOf = ({ parts }: Pick<PageState, 'parts'>, now: number): Silence | undefined => {
  const [known, sendingIds] = [parts.known?.answer?.cameras, parts.recent?.answer?.active_camera_ids];
  if (known === undefined || sendingIds === undefined) return undefined;
  const isSending = new Set(sendingIds);
  const before = now - SILENT_MINUTES * 60_000;
  const cameras = known
    .map(({ camera_id: id, last_event_at: lastAt }) => ({ id, lastAt }))
    // A camera may have begun to send after the answer about recent cameras.
    .filter((camera) => !isSending.has(camera.id) && timeOf(camera) <= before)
    .sort((left, right) => timeOf(right) - timeOf(left) || (left.id < right.id ? -1 : 1));
  return { cameras, sending: known.length - cameras.length };
};

/** All camera ids in the answers. */
export const cameraIdsOf = ({ parts: { known, activity, cameras } }: Pick<PageState, 'parts'>): readonly string[] => [
  ...new Set([
    ...[...(known?.answer?.cameras ?? []), ...(cameras?.answer?.cameras ?? [])].map(({ camera_id: id }) => id),
    ...(activity?.answer?.active_camera_ids ?? []),
  ]),
];
