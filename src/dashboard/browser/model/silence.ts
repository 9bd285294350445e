import type { KnownCameras } from './answers.ts';
import type { PageState } from './page-state.ts';
import { SILENT_MINUTES } from './spans.ts';

export interface Silence {
  /** The silent cameras, the latest first. */
  readonly cameras: KnownCameras['cameras'];
  readonly sending: number;
}

const timeOf = ({ last_event_at: at }: KnownCameras['cameras'][number]): number => Date.parse(at);

/** The silent cameras at `now` (milliseconds since 1970); undefined until the service has answered. */
export const silenceOf = ({ parts }: Pick<PageState, 'parts'>, now: number): Silence | undefined => {
  const [known, sendingIds] = [parts.known?.answer?.cameras, parts.recent?.answer?.active_camera_ids];
  if (known === undefined || sendingIds === undefined) return undefined;
  const isSending = new Set(sendingIds);
  const before = now - SILENT_MINUTES * 60_000;
  const cameras = known
    // A camera may have begun to send after the answer about recent cameras.
    .filter((camera) => !isSending.has(camera.camera_id) && timeOf(camera) <= before)
    .sort((left, right) => timeOf(right) - timeOf(left) || (left.camera_id < right.camera_id ? -1 : 1));
  return { cameras, sending: known.length - cameras.length };
};

export const cameraIdsOf = ({ parts: { known, activity, cameras } }: Pick<PageState, 'parts'>): readonly string[] => [
  ...new Set([
    ...[...(known?.answer?.cameras ?? []), ...(cameras?.answer?.cameras ?? [])].map(({ camera_id: id }) => id),
    ...(activity?.answer?.active_camera_ids ?? []),
  ]),
];
