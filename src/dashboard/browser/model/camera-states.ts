import type { PageState } from './page-state.ts';
import { SILENT_MINUTES } from './spans.ts';
import { DAY_MS } from './steps.ts';

/** The page knows the cameras of this number of days, the maximum of an answer. */
export const KNOWN_DAYS = 31;

/** A camera that sent nothing for a week is gone. */
const GONE_DAYS = 7;

/** From this share of silent cameras on, a person must check. */
const SILENT_SHARE = 0.1;

export interface CameraState {
  readonly id: string;
  readonly state: 'sending' | 'silent' | 'gone';
  /** ISO 8601. */
  readonly lastEventAt: string;
}

export const STATE_WORDS = { sending: 'Sending', silent: 'Silent', gone: 'Gone' } as const;

export interface CameraStates {
  readonly byId: ReadonlyMap<string, CameraState>;
  /** Silent and gone cameras, the latest first. */
  readonly notSending: readonly CameraState[];
  readonly sending: number;
  readonly total: number;
  /** At least a tenth of the cameras of 31 days is silent or gone. */
  readonly areManySilent: boolean;
}

/** The state of each camera of 31 days, at the time of the answer about recent cameras; undefined until the service has answered. */
export const cameraStatesOf = ({ parts }: Pick<PageState, 'parts'>): CameraStates | undefined => {
  const [known, recent] = [parts.known?.answer?.cameras, parts.recent];
  const sendingIds = recent?.answer?.active_camera_ids;
  if (known === undefined || sendingIds === undefined) return undefined;
  const answeredAt = recent?.answeredAt ?? 0;
  const isSending = new Set(sendingIds);
  const silentFrom = answeredAt - SILENT_MINUTES * 60_000;
  const goneFrom = answeredAt - GONE_DAYS * DAY_MS;
  const states = new Map<string, CameraState>();
  for (const { camera_id: id, last_event_at: at } of known) {
    const last = Date.parse(at);
    // A camera may have begun to send after the answer about recent cameras.
    const state = isSending.has(id) || last > silentFrom ? 'sending' : last > goneFrom ? 'silent' : 'gone';
    states.set(id, { id, state, lastEventAt: at });
  }
  // A camera may have begun to send after the answer about all cameras.
  const lastEventAt = new Date(answeredAt).toISOString();
  for (const id of isSending) if (!states.has(id)) states.set(id, { id, state: 'sending', lastEventAt });
  const notSending = [...states.values()]
    .filter(({ state }) => state !== 'sending')
    .sort((left, right) => timeOf(right) - timeOf(left) || (left.id < right.id ? -1 : 1));
  const total = states.size;
  return {
    byId: states,
    notSending,
    sending: total - notSending.length,
    total,
    areManySilent: notSending.length > 0 && notSending.length >= total * SILENT_SHARE,
  };
};

const timeOf = ({ lastEventAt }: CameraState): number => Date.parse(lastEventAt);

export const cameraIdsOf = ({ parts: { known, recent, cameras } }: Pick<PageState, 'parts'>): readonly string[] =>
  [
    ...new Set([
      ...[...(known?.answer?.cameras ?? []), ...(cameras?.answer?.cameras ?? [])].map(({ camera_id: id }) => id),
      ...(recent?.answer?.active_camera_ids ?? []),
    ]),
  ].sort();
