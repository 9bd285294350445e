import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { expect, it, onTestFinished, vi } from 'vitest';

import type { CallEvent, CallMessage } from '../../../../src/calls/model/phone-provider.ts';
import type { CallbackHandler } from '../../../../src/calls/providers/callbacks.ts';
import { TwilioCallbacks } from '../../../../src/calls/providers/twilio/twilio-callbacks.ts';
import { must } from '../../new-case.ts';
import { ATTEMPT } from '../stage.ts';

const BASES = ['https://watch.example', 'https://test.example'];
const callbacks = new TwilioCallbacks({ authTokens: ['first', 'second'], baseUrls: BASES, voice: 'Polly.Joanna' });

const PATH = 'api/ConfirmedFireCallback';
const FORM = { CallSid: `CA${'0'.repeat(32)}`, CallStatus: 'in-progress' };
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
const MESSAGE = '<Say voice="Polly.Joanna" language="en-US" loop="3">Fire. </Say>';
type Own = Partial<CallbackHandler>;
type Form = Readonly<Record<string, string>>;

const signed = (search: string, form: Form, base = BASES[0], token = 'first') => {
  const signature = getExpectedTwilioSignature(token, `${base}/${PATH}${search}`, form);
  return { path: PATH, search, form, signature };
};

/** The answer to a request, the events of the service, and the attempts whose message was read. */
const asked = async (search: string, form: Form = FORM, own: Own = {}) => {
  const events: CallEvent[] = [];
  const messages: unknown[] = [];
  const phone: CallbackHandler = {
    handle: async (handed) => {
      events.push(...handed);
      return Promise.resolve(true);
    },
    messageOf: async (attempt) => {
      messages.push(attempt?.index);
      return Promise.resolve({ unit: 'Fire. ', hasKeys: attempt !== undefined });
    },
    ...own,
  };
  const answer = await callbacks.answer(signed(search, form), phone, SILENT);
  return { answer: must(answer).replace(/^<\?xml.*\?>/, ''), events, messages };
};

/** Presses a key: the spoken text, the addresses of keys and prompts in the answer, and the rest. */
const press = async (Digits: string, prompt = '', own: Own = {}) => {
  const { answer, ...told } = await asked(`?attempt=${ATTEMPT}${prompt}&on=key&keys=4`, { ...FORM, Digits }, own);
  return {
    answer,
    ...told,
    says: /<Say[^>]*>([^<]*)/.exec(answer)?.[1],
    keys: /on=key&amp;keys=\d+/.exec(answer)?.[0],
    prompts: [...answer.matchAll(/444455556666(\/\d)?&/g)].map(([, number = '/0']) => number),
    hangsUp: answer.includes('<Hangup/>'),
  };
};

const hangs = async () => new Promise<never>(() => undefined);
const slow = async () =>
  new Promise<CallMessage>((resolve) => void setTimeout(resolve, 650, { unit: 'Fire. ', hasKeys: true }));
const NOT_STORED = { handle: async () => Promise.resolve(false) };

/** Lets time pass. The result is undefined if nothing was answered by then. */
const within = async <Answer>(ms: number, ask: () => Promise<Answer>): Promise<Answer | undefined> => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let answered: Answer | undefined;
  void ask().then((answer) => (answered = answer));
  await vi.advanceTimersByTimeAsync(ms);
  return answered;
};

it.each([
  ['first', BASES[1], '', true],
  ['second', BASES[1], '', true],
  ['third', BASES[1], '', false],
  ['first', BASES[1], 'x', false],
  ['first', 'https://other.example', '', false],
])(
  'a signature by the %s token for %s%s shows the base of the next addresses: %s',
  async (token, base, more, isGood) => {
    const form = { ...FORM, Digits: '9', To: '+12065550100' };
    const request = { ...signed(`?on=key${more}`, form, base, token), search: '?on=key' };
    const phone = {
      handle: async () => Promise.resolve(true),
      messageOf: async () => Promise.reject(new Error('none')),
    };
    const answer = await callbacks.answer(request, phone, SILENT);
    expect(answer?.includes(`action="${base}/${PATH}?on=key&amp;keys=1#`)).toBe(isGood ? true : undefined);
    expect(await callbacks.answer({ ...request, signature: '' }, phone, SILENT)).toBeUndefined();
  },
);

it('a status is an event, and is answered with nothing', async () => {
  const { answer, events } = await asked(`?attempt=${ATTEMPT}&on=status`);
  expect([answer, events]).toEqual(['<Response/>', [expect.objectContaining({ kind: 'connected' })]]);
  for (const form of [{ CallStatus: 'in-progress' }, { ...FORM, CallStatus: 'paused' }]) {
    expect(await asked('?on=status', form)).toMatchObject({ answer: '<Response/>', events: [] });
  }
});

it('the end of a prompt is an event, and the line is hung up', async () => {
  const { answer, events } = await asked(`?attempt=${ATTEMPT}/1&on=end`);
  expect(answer).toBe('<Response><Hangup/></Response>');
  expect(events).toEqual([expect.objectContaining({ kind: 'play completed', prompt: 1 })]);
});

const end = async () => asked(`?attempt=${ATTEMPT}&on=end`, FORM, { handle: hangs });

it('hangs up 4.2 s after the end of a prompt, although storage hangs', async () => {
  expect(await within(4_100, end)).toBeUndefined();
  expect((await within(4_200, end))?.answer).toContain('<Hangup/>');
});

const CANNOT_GO = { keys: 'on=key&amp;keys=5', prompts: ['/8'], hangsUp: true };
const listensIn = (prompt: string) => ({ says: undefined, prompts: [prompt, prompt], hangsUp: false });
const again = (prompt: string) => ({
  ...listensIn(prompt),
  says: 'Fire. ',
  answer: expect.stringContaining(MESSAGE),
});

it.each<[string, string, object, Own?]>([
  ['1', '', { says: 'Confirmed. Thank you.', keys: undefined, hangsUp: true }],
  // No goodbye follows a 1 that was not stored.
  ['1', '', { ...again('/0'), keys: 'on=key&amp;keys=5', messages: [3] }, NOT_STORED],
  ['1', '/8', again('/0'), NOT_STORED],
  // After "cannot go", 1 still counts for a second, and no other key.
  ['3', '', { says: 'Understood. Thank you.', ...CANNOT_GO }],
  ['1', '/8', { says: 'Confirmed. Thank you.' }],
  ['2', '/8', { says: undefined, ...CANNOT_GO }],
  ['2', '', again('/1')],
  ['2', '/1', again('/2')],
  // Repeated often enough: the call only listens.
  ['2', '/2', listensIn('/2')],
  // It has stopped the message.
  ['9', '/1', again('/1')],
  ['#', '/1', again('/1')],
  ['0', '/1', again('/1')],
])('key %s in the prompt %j: %j', async (key, prompt, expected, own) => {
  expect(await press(key, prompt, own)).toMatchObject(expected);
});

it('listens for 8 s after the last repeat and for 1 s after a goodbye; a key is told once, with its number', async () => {
  expect((await press('2', '/2')).answer).toContain(' timeout="8" ');
  expect((await press('3')).answer).toContain(' timeout="1" ');
  expect((await press('1')).events).toMatchObject([{ kind: 'tone received', key: { key: '1', sequence: 4 } }]);
});

it('waits 0.7 s for the message after a key, and answers within 4.9 s although storage hangs: the call listens on', async () => {
  expect(await within(700, async () => press('9', '', { messageOf: slow }))).toMatchObject({ says: 'Fire. ' });
  const hanging = await within(4_900, async () => press('1', '', { handle: hangs, messageOf: hangs }));
  expect(hanging).toMatchObject(listensIn('/0'));
});

it('a call of another system hears the message of its path once, and is hung up; it is no event', async () => {
  const { answer, ...told } = await asked('?their=own');
  expect(answer).toBe(`<Response>${MESSAGE}<Hangup/></Response>`);
  expect(told).toEqual({ events: [], messages: [undefined] });
  const form = { ...FORM, CallStatus: 'completed', CallbackSource: 'call-progress-events' };
  expect(await asked('', form)).toEqual({ answer: '<Response/>', events: [], messages: [] });
});
