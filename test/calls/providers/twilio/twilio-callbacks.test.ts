import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { CallEvent, CallMessage } from '../../../../src/calls/model/phone-line.ts';
import type { CallbackHandler } from '../../../../src/calls/providers/callbacks.ts';
import { TwilioCallbacks } from '../../../../src/calls/providers/twilio/twilio-callbacks.ts';

const BASES = ['https://watch.example', 'https://test.example'];
const callbacks = new TwilioCallbacks({ authTokens: ['first', 'second'], baseUrls: BASES, voice: 'Polly.Joanna' });

const PATH = 'api/ConfirmedFireCallback';
const ID = 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de';
const ATTEMPT = `${ID}/3/3f0c1e5a-1111-4222-8333-444455556666`;
const FORM = { CallSid: `CA${'0'.repeat(32)}`, CallStatus: 'in-progress' };
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
const MESSAGE = '<Say voice="Polly.Joanna" language="en-US" loop="3">Fire. </Say>';

/** What a request is answered, and what the service was told of it. */
const asked = async (
  search: string,
  form: Readonly<Record<string, string>> = FORM,
  own: Partial<CallbackHandler> = {},
): Promise<{
  readonly answer: string;
  readonly events: readonly CallEvent[];
  readonly messages: readonly unknown[];
}> => {
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
  const answer = await callbacks.answer({ path: PATH, search, form }, BASES[0] ?? '', phone, SILENT);
  return { answer: answer.replace(/^<\?xml.*\?>/, ''), events, messages };
};

/** What is said, and what the addresses in an answer say: of keys, and of the end. */
const toldBy = (answer: string) => ({
  says: /<Say[^>]*>([^<]*)/.exec(answer)?.[1],
  keys: /on=key&amp;keys=\d+/.exec(answer)?.[0],
  speeches: [...answer.matchAll(/444455556666(\/\d)?&/g)].map(([, speech = '/0']) => speech),
  hangsUp: answer.includes('<Hangup/>'),
});

const press = async (Digits: string, speech = '', own: Partial<CallbackHandler> = {}) => {
  const { answer, ...told } = await asked(`?attempt=${ATTEMPT}${speech}&on=key&keys=4`, { ...FORM, Digits }, own);
  return { ...toldBy(answer), answer, ...told };
};

const afterAWhile = async () =>
  new Promise<CallMessage>((resolve) => void setTimeout(resolve, 650, { unit: 'Fire. ', hasKeys: true }));

const hangs = async () => new Promise<never>(() => undefined);

describe('a signature', () => {
  const url = `${BASES[1]}/${PATH}?on=status`;
  const request = { path: PATH, search: '?on=status', form: { ...FORM, To: '+12065550100' } };
  const signature = (token: string, address = url) => getExpectedTwilioSignature(token, address, request.form);

  it.each(['first', 'second'])('by the %s token says which base Twilio was given', async (token) => {
    expect(await callbacks.baseOf(request, signature(token))).toBe(BASES[1]);
  });

  it.each([
    ['of another token', signature('third')],
    ['of another address', signature('first', `${url}x`)],
    ['that is empty', ''],
  ])('%s is not believed', async (_, given) => {
    expect(await callbacks.baseOf(request, given)).toBeUndefined();
  });
});

describe('a status', () => {
  it('is an event and asks for nothing', async () => {
    const { answer, events } = await asked(`?attempt=${ATTEMPT}&on=status`);
    expect([answer, events]).toEqual(['<Response/>', [expect.objectContaining({ kind: 'connected' })]]);
  });

  it('without a call id, or of another kind, is none', async () => {
    for (const form of [{ CallStatus: 'in-progress' }, { ...FORM, CallStatus: 'paused' }]) {
      expect(await asked('?on=status', form)).toMatchObject({ answer: '<Response/>', events: [] });
    }
  });
});

describe('the end of a speech', () => {
  it('is told, and the line hung up', async () => {
    const { answer, events } = await asked(`?attempt=${ATTEMPT}/1&on=end`);
    expect(answer).toBe('<Response><Hangup/></Response>');
    expect(events).toEqual([expect.objectContaining({ kind: 'play completed', speech: 1 })]);
  });

  it('hangs up after 4.2 s, although storage hangs', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const answered = asked(`?attempt=${ATTEMPT}&on=end`, FORM, { handle: hangs });
    const isAnswered = vi.fn<() => void>();
    void answered.then(isAnswered);
    await vi.advanceTimersByTimeAsync(4_100);
    expect(isAnswered).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(100);
    expect((await answered).answer).toContain('<Hangup/>');
  });
});

describe('a key', () => {
  const NOT_STORED = { handle: async () => Promise.resolve(false) };

  it('1 is thanked for, and the line hung up', async () => {
    expect(await press('1')).toMatchObject({ says: 'Confirmed. Thank you.', keys: undefined, hangsUp: true });
  });

  it('is told once, also if Twilio posts it again', async () => {
    expect((await press('1')).events).toMatchObject([{ kind: 'tone received', key: { key: '1', sequence: 4 } }]);
  });

  it('1 that was not stored is not thanked for: the message is said again', async () => {
    const { answer, ...told } = await press('1', '', NOT_STORED);
    expect(answer).toContain(MESSAGE);
    expect(told).toMatchObject({ keys: 'on=key&amp;keys=5', speeches: ['/0', '/0'], hangsUp: false, messages: [3] });
    expect(await press('1', '/8', NOT_STORED)).toMatchObject({ says: 'Fire. ', speeches: ['/0', '/0'] });
  });

  it('3 is understood; 1 still counts for a second, and nothing else', async () => {
    const understood = { keys: 'on=key&amp;keys=5', speeches: ['/8'], hangsUp: true };
    const { answer, ...told } = await press('3');
    expect(told).toMatchObject({ says: 'Understood. Thank you.', ...understood });
    expect(answer).toContain(' timeout="1" ');
    expect(await press('1', '/8')).toMatchObject({ says: 'Confirmed. Thank you.' });
    expect(await press('2', '/8')).toMatchObject({ says: undefined, ...understood });
  });

  it.each([
    ['', '/1'],
    ['/1', '/2'],
  ])('2 in speech %j has the message said as speech %s', async (speech, next) => {
    const { answer, ...told } = await press('2', speech);
    expect(answer).toContain(MESSAGE);
    expect(told).toMatchObject({ speeches: [next, next], hangsUp: false });
  });

  it('2 in the second repeat has nothing said: the call listens for 8 s more', async () => {
    const { answer, ...told } = await press('2', '/2');
    expect(told).toMatchObject({ says: undefined, speeches: ['/2', '/2'], hangsUp: false });
    expect(answer).toContain(' timeout="8" ');
  });

  it.each(['9', '#', '0'])('%s means nothing: it has stopped the message, which is said again', async (key) => {
    expect(await press(key, '/1')).toMatchObject({ says: 'Fire. ', speeches: ['/1', '/1'] });
  });

  it('waits for the message for 0.7 s', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const answered = press('9', '', { messageOf: afterAWhile });
    await vi.advanceTimersByTimeAsync(700);
    expect(await answered).toMatchObject({ says: 'Fire. ' });
  });

  it('is answered within 4.9 s, although storage hangs: the call goes on listening', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const answered = press('1', '', { handle: hangs, messageOf: hangs });
    await vi.advanceTimersByTimeAsync(4_900);
    expect(await answered).toMatchObject({ says: undefined, speeches: ['/0', '/0'], hangsUp: false });
  });
});

describe('a call of another system', () => {
  it("hears the message of the path's alert type once, and is hung up; nothing is told of it", async () => {
    const { answer, ...told } = await asked('?their=own');
    expect(answer).toBe(`<Response>${MESSAGE}<Hangup/></Response>`);
    expect(told).toEqual({ events: [], messages: [undefined] });
  });

  it('reports its status in vain', async () => {
    const form = { ...FORM, CallStatus: 'completed', CallbackSource: 'call-progress-events' };
    expect(await asked('', form)).toEqual({ answer: '<Response/>', events: [], messages: [] });
  });
});
