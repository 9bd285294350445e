import { fireEvent, screen, within } from '@testing-library/preact';
import { describe, expect, it } from 'vitest';

import { before, missed, notification, person, WAVES } from '../answers.ts';
import { element, focused, openPage, textOf } from './stage.ts';

const dialog = (): HTMLElement => screen.getByRole('dialog', { name: /this alert|Take over|Stop the calls/ });

/** A fire that a person took 2 s after noon. */
const owned = (by: string) => [missed('fire', { acknowledged_by: by, acknowledged_at: before(-2) })];

type Page = Awaited<ReturnType<typeof openPage>>;

/** Takes the alert of a row. */
const take = async ({ press, submit, row }: Page, id: string, by: string): Promise<void> => {
  await press(/^Take/, row(id));
  await submit({ 'Who has it?': by }, dialog());
};

describe('the table of alerts', () => {
  it('has state, type, place, people, age and owner of each alert, its next step, and short links', async () => {
    const { alerts } = await openPage({
      notifications: [
        notification('fire', {
          details: 'North ridge, mile 4',
          reference: `ridge-1 https://example.org/a/${'long/'.repeat(20)}4 javascript:alert(1) https://user:word@example.org/2`,
          confirmations_needed: 2,
          next_wave_at: before(-40),
          recipients: [
            person('00', 'confirmed', { name: 'Ana' }),
            person('01', 'ringing'),
            person('02', 'not_reached'),
          ],
        }),
      ],
    });
    expect(alerts()).toEqual({
      Running: [
        'New ◌ 1 confirmed, 2 needed Fire North ridge, mile 4 ridge-1 example.org/…/4 javascript:alert(1) https://user:word@example.org/2 The next wave in 40 s 1 of 3: 1 confirmed, 1 ringing, 1 not reached 1 min Nobody',
      ],
    });
    const links = [...document.querySelectorAll<HTMLAnchorElement>('.reference a')];
    expect(links.map((link) => [link.textContent, link.rel])).toEqual([
      ['ridge-1', ''],
      ['example.org/…/4', 'noopener noreferrer'],
    ]);
  });

  it('has three sections; the third is collapsed; each button has a name of its own', async () => {
    const taken = { acknowledged_by: 'Ana', acknowledged_at: before(30) };
    const notifications = [
      missed('one', { details: 'Mile 1' }),
      missed('two', { details: 'Mile 2' }),
      notification('three', { alert_type: 'BurnJob' }),
      ...Array.from({ length: 15 }, (_, index) => missed(`taken ${index}`, taken)),
    ];
    const { alerts, press, lamp } = await openPage({ notifications });
    expect(Object.entries(alerts()).map(([name, rows]) => [name, rows.length])).toEqual([
      ['Needs you', 2],
      ['Running', 1],
      ['Taken and resolved', 0],
    ]);
    expect([lamp('Alerts'), document.title.slice(0, 16)]).toEqual(['bad: 2 open', 'Alerts 2 open · ']);
    const names = screen
      .getAllByRole('button', { name: /^(Take|Stop): / })
      .map((each) => each.getAttribute('aria-label'));
    expect(new Set(names).size).toBe(names.length);
    expect(textOf(screen.getByRole('button', { name: /Taken and resolved/ }))).toBe('▸ Taken and resolved 15 in 24 h');
    await press(/Taken and resolved/);
    // A taken alert has no button: its drawer has it.
    expect(document.querySelectorAll('.alert')).toHaveLength(18);
    expect(document.querySelectorAll('.alert.taken button')).toHaveLength(0);
  });

  it('is amber for a fire whose message was only played, and counts no person: it may have been a voicemail', async () => {
    const recipients = [person('75', 'heard'), person('00', 'heard')];
    const { alerts, lamp, row } = await openPage({
      notifications: [notification('fire', { status: 'completed', recipients })],
    });
    expect(alerts()['Needs you']).toEqual([
      '? Message played (person or voicemail unknown) Fire Played to 2: 2 message played 1 min Nobody',
    ]);
    expect([row('fire').className, lamp('Alerts')]).toEqual(['alert open', 'warn: 1 open']);
    expect([...row('fire').querySelectorAll('.dots i')].map(({ className }) => className)).toEqual([
      'played',
      'played',
    ]);
  });

  it('lists a fire of the day however many alerts came after it', async () => {
    const later = Array.from({ length: 299 }, (_, index) =>
      notification(`later ${index}`, {
        alert_type: 'Anomaly',
        status: 'completed',
        recipients: [person('00', 'heard')],
      }),
    );
    const played = notification('played', { status: 'completed', recipients: [person('75', 'heard')] });
    const { alerts } = await openPage({ notifications: [...later, played] });
    expect(alerts()['Needs you']).toHaveLength(1);
    expect(textOf(screen.getByRole('button', { name: /Taken and resolved/ }))).toBe('▸ Taken and resolved 299 in 24 h');
  });

  it('sets a right-to-left place apart: no space or separator moves to its other end', async () => {
    const place = { details: 'קו הרכס, ק״מ 4', reference: 'רכס-4' };
    const { press } = await openPage({ notifications: [missed('fire', place)] }, '?camera_id=רכס-4&tz=utc');
    await press(/^Take/);
    const apart = [...document.querySelectorAll('bdi')].map((each) => each.textContent);
    expect(apart).toEqual(expect.arrayContaining([place.details, place.reference]));
    for (const text of apart) expect(text).toMatch(/^[^\s·].*[^\s·]$/);
  });

  it('says that no alert needs the reader', async () => {
    await openPage();
    expect(textOf(element('#alerts'))).toBe('No alert needs you.');
  });
});

describe('taking an alert', () => {
  it('names the alert, tells the name to all readers, and reports a failure in plain words', async () => {
    const page = await openPage({ notifications: [missed('fire', { details: 'Mile 4', reference: 'ridge-1' })] });
    await page.press(/^Take/, page.row('fire'));
    expect(textOf(dialog())).toMatch(/^Take this alert Fire · Mile 4 · ridge-1/);
    page.service.instead = (path) => (path.endsWith('acknowledge') ? 'away' : undefined);
    await page.submit({ 'Who has it?': 'Ana' }, dialog());
    expect(textOf(element('.toast[class~=bad]'))).toContain('Not taken. The service does not answer. Try again.');
    page.service.instead = () => undefined;
    await take(page, 'fire', '  Ana ');
    expect(page.service.asked.findLast(({ method }) => method === 'POST')).toMatchObject({
      path: 'notifications/fire/acknowledge',
      body: '{"by":"Ana"}',
    });
    expect(page.alerts()).toEqual({ 'Taken and resolved': [] });
    expect(document.title).toMatch(/^Today/);
    expect(textOf(element('.toast'))).toMatch(/^Ana has it: Fire: Mile 4/);
    await page.advance(12_000);
    expect(document.querySelector('.toast')).toBeNull();
  });

  it('keeps its dialog, with what was typed, whatever becomes of the alert; the focus never gets lost', async () => {
    const page = await openPage({ notifications: [notification('fire')] });
    await page.press(/^Take/, page.row('fire'));
    const field = within(dialog()).getByLabelText<HTMLInputElement>('Who has it?');
    field.value = 'An';
    field.focus();
    page.service.notifications = [
      notification('fire', { status: 'completed', recipients: [person('00', 'confirmed', { name: 'Bo' })] }),
    ];
    await page.advance(10_000);
    expect(textOf(dialog().querySelector('.since-opened'))).toBe('Meanwhile: Confirmed by Bo.');
    expect([field.isConnected, field.value, document.activeElement]).toEqual([true, 'An', field]);
    page.service.notifications = [];
    await page.advance(10_000);
    expect(field.isConnected).toBe(true);
    await page.press('Cancel');
    expect(document.activeElement?.id).toBe('alerts');
  });

  it('over from another person asks with their name, and can be undone', async () => {
    const taken = { acknowledged_by: 'Ana', acknowledged_at: before(30), details: 'Mile 4' };
    const page = await openPage({ notifications: [missed('fire', taken)] }, '?notification=fire&tz=utc');
    await page.press('Take over from Ana');
    expect(textOf(dialog())).toMatch(/^Take over from Ana Fire · Mile 4/);
    await page.submit({ 'Who has it?': 'Bo' }, dialog());
    expect(textOf(element('.drawer'))).toContain('Owner Bo since 12:00:00 UTC');
    await page.press('Undo');
    expect(textOf(element('.drawer'))).toContain('Owner Ana');
    await page.press('Take over from Ana');
    const field = within(dialog()).getByLabelText<HTMLInputElement>('Who has it?');
    expect(field.value, 'the name of the reader').toBe('Bo');
  });

  it('replaces nobody who came meanwhile: the dialog names them, and asks again if the page did not know them', async () => {
    const page = await openPage({ notifications: [missed('fire')] });
    await page.press(/^Take/, page.row('fire'));
    page.service.notifications = owned('Ana');
    await page.advance(8_000);
    expect(textOf(dialog())).toMatch(
      /^Take over from Ana Fire Ana has taken it at 12:00:02 UTC\. .* Take over from Ana Cancel$/,
    );
    // The next question of the page would come later.
    page.service.notifications = owned('Zoe');
    await page.submit({ 'Who has it?': 'Bo' }, dialog());
    expect(page.service.asked.filter(({ method }) => method === 'POST')).toEqual([]);
    expect(textOf(dialog())).toMatch(/^Take over from Zoe Fire Zoe has taken it at 12:00:02 UTC\./);
    expect(within(dialog()).getByLabelText<HTMLInputElement>('Who has it?').value).toBe('Bo');
    await page.submit({ 'Who has it?': 'Bo' }, dialog());
    expect(page.service.notifications[0]?.acknowledged_by).toBe('Bo');
    await page.press('Undo');
    expect(page.service.notifications[0]?.acknowledged_by).toBe('Zoe');
  });

  it('hides nothing: an outcome that becomes worse needs a person again', async () => {
    const page = await openPage({ notifications: [notification('fire')] });
    await take(page, 'fire', 'Ana');
    expect(page.alerts()['Running']?.[0]).toMatch(/^◌ Calling Fire .* Ana$/);
    expect(document.title).toMatch(/^Today/);
    page.service.notifications = [
      missed('fire', { acknowledged_by: 'Ana', acknowledged_at: before(0), worsened_since_acknowledged: true }),
    ];
    await page.advance(8_000);
    expect(page.alerts()['Needs you']).toEqual([
      '✕ Nobody reached It has become worse Fire 0 of 1: 1 not reached 1 min Ana',
    ]);
    expect(document.title).toMatch(/^Alerts 1 open · /);
  });
});

describe('stopping an alert', () => {
  it('asks first, for a name, and says who stopped it', async () => {
    const { service, press, row, alerts } = await openPage({
      notifications: [notification('fire', { details: 'Mile 4' })],
    });
    await press(/^Stop/, row('fire'));
    expect(focused()).toBe('Continue phoning');
    expect(textOf(dialog())).toMatch(/^Stop the calls of this alert\? Fire · Mile 4/);
    within(dialog()).getByLabelText<HTMLInputElement>('Who stops it?').value = 'Bo';
    service.instead = (path) => (path.endsWith('/stop') ? 'away' : undefined);
    await press('Stop the calls');
    expect(textOf(element('.toast'))).toContain('Not stopped. The service does not answer. Try again.');
    service.instead = () => undefined;
    await press(/^Stop/, row('fire'));
    await press('Stop the calls');
    expect(service.asked.findLast(({ method }) => method === 'POST')).toMatchObject({
      path: 'notifications/fire/stop',
      body: '{"by":"Bo"}',
    });
    expect(alerts()).toEqual({ 'Taken and resolved': [] });
    await press(/Taken and resolved/);
    expect(alerts()['Taken and resolved']?.[0]).toContain('Stopped by Bo');
  });
});

describe('the drawer', () => {
  it('has each wave, name, masked number and call, what comes next, and why a person waits', async () => {
    const notifications = [notification('fire', { recipients: WAVES, next_wave_at: before(-40) })];
    await openPage({ notifications }, '?notification=fire&tz=utc');
    expect(textOf(element('.facts'))).toContain('Next Wave 2 in 40 s at 12:00:40 UTC');
    expect([...document.querySelectorAll('.drawer section')].map((section) => textOf(section, '.tip'))).toEqual([
      [
        'Wave 1 first called at 11:59:10 UTC',
        'Ana +1206•••••10 ✕ Not reached 11:59:10 UTC ✕ No answer, 30 s, network code 480/560480 11:59:45 UTC • Call canceled: by an operator, 3 s',
        'Bo +1206•••••11 ◌ Waiting Not called yet Next call in 30 s at 12:00:30 UTC. Waiting since 11:59:30 UTC: no line is free.',
      ].join(' '),
      'Wave 2 not called yet Unnamed +1206•••••12 ◌ Waiting Not called yet Next call in 1 min at 12:01:30 UTC.',
    ]);
  });

  it('opens by its row and closes by Escape or its button; the address holds it; the focus goes there and back', async () => {
    const { follow, press } = await openPage({ notifications: [missed('fire', { details: 'Mile 4' })] });
    await follow(/^Fire/);
    expect([location.search, focused()]).toEqual(['?notification=fire&tz=utc', 'Fire Mile 4']);
    await press('Close the alert');
    expect([location.search, document.activeElement?.id]).toEqual(['?tz=utc', 'alert-fire']);
    await follow(/^Fire/);
    // The reader has clicked next to the drawer.
    element('#shown').focus();
    fireEvent.keyDown(element('#shown'), { key: 'Escape' });
    expect([location.search, document.activeElement?.id]).toEqual(['?tz=utc', 'alert-fire']);
  });

  it('of a link to an unknown alert says so, and the page is not red for it', async () => {
    const { lamp, problems } = await openPage({}, '?notification=nobody&tz=utc');
    expect(textOf(element('.drawer'))).toContain('The service does not know this alert.');
    expect([lamp('Data'), problems()]).toEqual(['good: 0 s old', []]);
  });

  it('shows an alert that is older than the lists, and one state with the table, from the freshest answer', async () => {
    const page = await openPage({ notifications: [notification('fire')] }, '?notification=fire&tz=utc');
    await page.advance(30_000);
    // The lists have it: the page does not ask for it alone again.
    expect(page.service.askedFor('notifications/fire')).toHaveLength(1);
    page.service.instead = (path) => (path.startsWith('notifications?ts_utc') ? 'hang' : undefined);
    page.service.notifications = [missed('fire')];
    await page.advance(8_000);
    expect(textOf(element('.drawer'))).toContain('✕ Nobody reached');
    expect(page.alerts()['Needs you']).toHaveLength(1);
    const old = missed('old', { acknowledged_by: 'Ana' });
    const of = (path: string) => (path === 'notifications/old' ? new Response(JSON.stringify(old)) : undefined);
    await openPage({ instead: of }, '?notification=old&tz=utc');
    expect(textOf(element('.drawer'))).toContain('✕ Nobody reached');
  });
});
