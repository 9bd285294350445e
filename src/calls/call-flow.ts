import { setTimeout as sleep } from 'node:timers/promises';

import type { Log, LogFields } from '../log.ts';
import type { AlertType } from './alert-types.ts';
import type { CallEvent } from './acs/call-events.ts';
import type { CallId } from './call-id.ts';
import type { CallLedger, Taken } from './store/call-ledger.ts';
import * as record from './call-record.ts';
import { LineWatch } from './line-watch.ts';
import { longestSpeakingMs, spokenMessage } from './message.ts';
import { type PhoneLine, PhoneLineError } from './phone-line.ts';
import { type CallResult, reasonInWords } from './acs/result-reason.ts';

/** What the flow of calls is made of. */
export interface CallFlowParts {
  readonly line: PhoneLine;
  readonly ledger: CallLedger;
  /** Spoken in the message. */
  readonly serviceName: string;
  /** For what happens outside any request. */
  readonly log: Log;
}

/** A call that this flow is asked about. */
interface Subject {
  readonly callId: CallId;
  readonly alertType: AlertType;
  readonly details: record.CallDetails;
  readonly log: Log;
}

// ACS gives a call up after 115 s; its last word then still has to arrive.
const ESTABLISHING_MS = 125_000;
// A claim of another instance is looked at again this often.
const LOOK_AGAIN_MS = 250;
// After an unclear answer to a play: how long its PlayStarted may take to arrive.
const PLAY_STARTED_WITHIN_MS = 2_000;

/**
 * From a call's events to what is done about them: speak when somebody answers, hang up when the message is over or cannot be spoken.
 * Each is claimed in the call's record first, so that it is done once however often and wherever an event arrives, and in
 * whatever order.
 */
export class CallFlow {
  readonly #line: PhoneLine;
  readonly #ledger: CallLedger;
  readonly #serviceName: string;
  readonly #watch: LineWatch;

  constructor({ line, ledger, serviceName, log }: CallFlowParts) {
    this.#line = line;
    this.#ledger = ledger;
    this.#serviceName = serviceName;
    this.#watch = new LineWatch((callId, alertType) =>
      this.#lookAfter(callId, alertType, log).catch((error: unknown) => {
        log.error('unexpected error', { call_id: callId, kind: kindOf(error) });
      }),
    );
  }

  /** Takes note of a call that ACS has just taken. */
  async placed(callId: CallId, alertType: AlertType, details: record.CallDetails, log: Log): Promise<void> {
    const taken = await this.#ledger.step(callId, (known) => record.placed(known, details, Date.now()), log);
    // Its events may have come first: then the call is looked after already, or over.
    if (taken.record?.state === 'establishing') this.#watch.lookAt(callId, alertType, ESTABLISHING_MS);
  }

  /** Does what an event asks for. Ends within about a minute, whatever ACS and the table do. */
  async handle({ callId, kind, context, result }: CallEvent, alertType: AlertType, log: Log): Promise<void> {
    const call: Subject = { callId, alertType, details: { alertType: alertType.name, ...context }, log };
    switch (kind) {
      case 'connected':
        await this.#speak(call);
        return;
      case 'play started':
        await this.#ledger.step(callId, (known) => record.playConfirmed(known, Date.now()), log);
        return;
      case 'play completed':
        await this.#end(call, { endsAs: 'hung_up' });
        return;
      case 'play canceled':
        await this.#end(call, { ...result, endsAs: 'hung_up', reason: 'the message was cancelled' });
        return;
      case 'play failed': {
        const ending = { ...result, endsAs: 'failed', reason: reasonInWords(result) ?? 'the message failed' } as const;
        const ended = await this.#end(call, ending);
        if (ended !== undefined) log.error('message not played', fieldsOf(call, ended));
        return;
      }
      case 'disconnected': {
        const step = (known?: record.CallRecord) => record.disconnected(known, call.details, result, Date.now());
        this.#noteEnd(call, await this.#ledger.step(callId, step, log), result);
        return;
      }
      case 'create failed': {
        const step = (known?: record.CallRecord) => record.notEstablished(known, call.details, result, Date.now());
        this.#noteEnd(call, await this.#ledger.step(callId, step, log), result);
      }
    }
  }

  async #speak(call: Subject): Promise<void> {
    const taken = await this.#claim(call, (known) => record.connected(known, call.details, Date.now()));
    if (taken.action === 'nothing') return;
    const text = spokenMessage(this.#serviceName, call.alertType);
    this.#watch.lookAt(call.callId, call.alertType, longestSpeakingMs(text));
    try {
      await this.#line.speak(call.callId, text, contextOf(taken.record));
    } catch (error) {
      if (await this.#startedAfterAll(call, error)) return;
      call.log.error('message not played', fieldsOf(call, taken.record, failureFields(error)));
      await this.#end(call, { endsAs: 'failed', ...endingOf(error) });
      return;
    }
    call.log.info('message playing', fieldsOf(call, taken.record));
    await this.#ledger.step(call.callId, (known) => record.playConfirmed(known, Date.now()), call.log);
  }

  /** Whether a play whose answer was lost is being spoken: its PlayStarted has come, here or to another instance. */
  async #startedAfterAll(call: Subject, error: unknown): Promise<boolean> {
    if (!(error instanceof PhoneLineError) || error.failure !== 'unanswered') return false;
    const end = performance.now() + PLAY_STARTED_WITHIN_MS;
    for (;;) {
      const { record: known } = await this.#ledger.step(call.callId, () => ({ action: 'seen' }), call.log);
      if (known?.state !== 'playing') return known !== undefined;
      if (known.playConfirmedAt !== undefined) {
        call.log.warn('message playing', fieldsOf(call, known, { reason: 'started without an answer' }));
        return true;
      }
      if (performance.now() >= end) return false;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  /** Hangs up. Answers the record as it was claimed; undefined where there was nothing to do any more. */
  async #end(
    call: Subject,
    ending: record.Ending,
    decide = (known?: record.CallRecord) => record.over(known, call.details, ending, Date.now()),
  ): Promise<record.CallRecord | undefined> {
    const taken = await this.#claim(call, decide);
    if (taken.action === 'nothing') return undefined;
    try {
      await this.#line.hangUp(call.callId);
    } catch (error) {
      call.log.error('hang-up failed', fieldsOf(call, taken.record, failureFields(error)));
      this.#watch.lookAt(call.callId, call.alertType, record.CLAIM_LEASE_MS);
      return taken.record;
    }
    this.#watch.forget(call.callId);
    const done = await this.#ledger.step(call.callId, (known) => record.hungUp(known, Date.now()), call.log);
    call.log.info('call hung up', fieldsOf(call, done.record ?? taken.record));
    return taken.record;
  }

  /** Takes a step that one instance alone may take; waits where another one is at it, and takes over if that one has died. */
  async #claim(
    call: Subject,
    decide: (known: record.CallRecord | undefined) => record.Step<record.Claim>,
  ): Promise<Taken<record.Claim>> {
    for (;;) {
      const taken = await this.#ledger.step(call.callId, decide, call.log);
      if (taken.action !== 'wait') return taken;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  #noteEnd(call: Subject, { action, record: known }: Taken<record.End>, result: CallResult): void {
    this.#watch.forget(call.callId);
    const fields = fieldsOf(call, known, { code: result.code, sub_code: result.subCode });
    if (action === 'failed') call.log.warn('call failed', fields);
    else if (action === 'ended') call.log.info('call disconnected', fields);
  }

  /** A call of which nothing was heard for too long: an event was lost, or the instance that it went to has died. */
  async #lookAfter(callId: CallId, alertType: AlertType, log: Log): Promise<void> {
    const { record: known, shared } = await this.#ledger.step(callId, () => ({ action: 'seen' }), log);
    const patience = {
      establishingMs: ESTABLISHING_MS,
      playingMs: longestSpeakingMs(spokenMessage(this.#serviceName, alertType)),
    };
    const due = known === undefined ? undefined : record.overdueAt(known, patience);
    if (known === undefined || due === undefined) {
      this.#watch.forget(callId);
      return;
    }
    const call: Subject = { callId, alertType, details: known, log };
    // Without the table, only another instance may know that somebody is being spoken to right now.
    if (due > Date.now() || (!shared && known.state === 'establishing')) {
      this.#watch.lookAt(callId, alertType, Math.max(due - Date.now(), record.CLAIM_LEASE_MS));
      return;
    }
    log.warn('call overdue', fieldsOf(call, known));
    await this.#end(call, { endsAs: 'failed' }, (latest) => record.overdue(latest, known, patience, Date.now()));
  }
}

const contextOf = (known: record.CallRecord | undefined) =>
  known?.requestId === undefined || known.recipient === undefined
    ? undefined
    : { requestId: known.requestId, recipient: known.recipient };

const failureFields = (error: unknown): LogFields =>
  error instanceof PhoneLineError
    ? { code: error.code, sub_code: error.subCode, reason: error.reason }
    : { reason: 'unexpected error', kind: kindOf(error) };

const endingOf = (error: unknown) =>
  error instanceof PhoneLineError
    ? { code: error.code, subCode: error.subCode, reason: `message not played: ${error.reason}` }
    : { reason: 'message not played' };

const kindOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

/** The fields of every log line about a call. */
const fieldsOf = (
  { callId, alertType }: Subject,
  known: record.CallRecord | undefined,
  more?: LogFields,
): LogFields => ({
  call_id: callId,
  request_id: known?.requestId,
  alert_type: alertType.name,
  recipient: known?.recipient,
  state: known?.state,
  code: known?.code,
  sub_code: known?.subCode,
  reason: known?.reason,
  ...more,
});
