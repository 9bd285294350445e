import type { NotificationBody, RecipientBody } from '../../../src/calls/state/view.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { idOf, numbersOf } from './senders.ts';
import type { World } from './world.ts';

const EVERY_MS = 10_000;
// A call request of which nothing is heard may ring for 145 s, and takes a line meanwhile; then the timer function has its turn.
const WAITS_AT_MOST_MS = 200_000;
// A phone may ring for so long after a request of which nothing was heard.
const UNCLEAR_MS = 160_000;
const NOT_FINAL = new Set(['waiting', 'ringing', 'speaking']);

const isFinal = ({ status }: RecipientBody): boolean => !NOT_FINAL.has(status);

/** Looks at all notifications again and again, and collects what may not be, a line each. */
export class Sampler {
  readonly broken: string[] = [];
  readonly #world: World;
  readonly #last = new Map<string, NotificationBody>();
  /** Since when somebody could have been called. */
  readonly #idleSince = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  start(): void {
    setInterval(() => void this.#look(), EVERY_MS);
  }

  async #look(): Promise<void> {
    for (const sent of this.#world.senders.sent) {
      const id = idOf(sent);
      if (id === undefined) continue;
      const before = this.#last.get(id);
      // What is over is looked at again at the end.
      if (before !== undefined && before.status !== 'in_progress') continue;
      const view = await this.#world.view(id);
      if (view === undefined) {
        this.#say(`${id} was answered, and is not there`);
        continue;
      }
      this.#last.set(id, view);
      const numbers = numbersOf(sent.request);
      for (const [index, recipient] of view.recipients.entries()) {
        const earlier = before?.recipients[index];
        if (earlier !== undefined && isFinal(earlier) && !isFinal(recipient)) {
          this.#say(`${recipient.recipient} was ${earlier.status} and is ${recipient.status}`);
        }
        this.#demandProgress(`${id} ${index}`, numbers[index], recipient);
      }
    }
  }

  /** Nobody waits while a line is free. */
  #demandProgress(
    key: string,
    number: PhoneNumber | undefined,
    { recipient, status, next_attempt_at: nextAt }: RecipientBody,
  ): void {
    const { mode, now, network, conditions } = this.#world;
    const open = network.calls.filter(({ state, request }) => state !== 'ended' && request !== undefined).length;
    const canBeCalled =
      status === 'waiting' &&
      // Of a call request without an answer nobody knows whether it rings.
      !this.#wasDialled(number) &&
      Date.parse(nextAt ?? '1970-01-01') <= now &&
      // One line is kept for urgent calls, and fewer may be used for a while if calls seem to find none.
      open < 1 &&
      !conditions.isOutage &&
      !conditions.isSetUpWrong &&
      mode.callsPerDay >= 1_000;
    if (!canBeCalled) {
      this.#idleSince.delete(key);
      return;
    }
    const since = this.#idleSince.get(key) ?? now;
    this.#idleSince.set(key, since);
    if (now - since > WAITS_AT_MOST_MS) this.#say(`${recipient} has waited for ${now - since} ms beside a free line`);
  }

  #wasDialled(number: PhoneNumber | undefined): boolean {
    const { dialled, now } = this.#world;
    return dialled.some((dial) => dial.number === number && now - dial.at < UNCLEAR_MS);
  }

  #say(what: string): void {
    this.#world.story.tell(() => `NOT AS PROMISED: ${what}`);
    if (this.broken.length < 10) this.broken.push(what);
  }
}
