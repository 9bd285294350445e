/** One line of a call's story. */
export interface StoryLine {
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Who did it: the app asked, ACS reported, the voice spoke. */
  readonly kind: 'request' | 'event' | 'speech';
  /** `createCall`, `CallConnected`, the spoken text. */
  readonly text: string;
  /** What the app answered to an event, or was answered to a request: an HTTP status, or what happened in place of one. */
  readonly answer?: string;
}

/** What happened in one call. */
export interface CallStory {
  readonly id: string;
  /** The whole number: no real person has it. */
  readonly to: string;
  readonly from: string;
  readonly scenario: string;
  readonly callbackUri: string;
  readonly state: 'ringing' | 'connected' | 'ended';
  /** Every text that the callee heard. */
  readonly spoken: readonly string[];
  /** The number of requests of each kind, failed ones included. */
  readonly requests: { readonly createCall: number; readonly play: number; readonly hangUp: number };
  readonly story: readonly StoryLine[];
}

/** A request that the simulator refused: the app should not have made it. */
export interface RefusedRequest {
  readonly at: string;
  /** Method and path. */
  readonly request: string;
  readonly status: number;
  readonly reason: string;
}

/** What `GET /log` answers. */
export interface SimulatorLog {
  readonly calls: readonly CallStory[];
  readonly refused: readonly RefusedRequest[];
  /** How often the keys of the callback tokens were fetched. */
  readonly keyFetches: number;
}
