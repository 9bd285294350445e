import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import { LoopbackServer } from '../harness/loopback-server.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { startProgram } from '../cli/running.ts';

/** Runs a script where this program (`az`, `gh`) writes down its arguments and ends as its shell code does. */
const runScript = async (
  script: string,
  [program, ends]: readonly [name: string, code: string],
  environment: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
) => {
  const directory = ownDirectory();
  writeFileSync(join(directory, program), `#!/bin/sh\necho "$*" >> asked\n${ends}\n`);
  chmodSync(join(directory, program), 0o755);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
  const PATH = `${directory}${delimiter}${process.env['PATH'] ?? ''}`;
  const path = fileURLToPath(new URL(`../../.github/scripts/${script}`, import.meta.url));
  const ended = await startProgram('bash', [path], { cwd: directory, environment: { PATH, ...environment } }).ended;
  const asked = join(directory, 'asked');
  return { ...ended, asked: existsSync(asked) ? readFileSync(asked, 'utf8').trim().split('\n') : [] };
};

/** Deploys to an app that answers one health question after the other with these statuses, and the last one from then on. */
const deploy = async (statuses: readonly number[], { digest = '', az = 'exit 0' } = {}) => {
  let questions = 0;
  const server = await LoopbackServer.start((request, response) => {
    const isHealth = request.url === '/api/health';
    response.writeHead(isHealth ? (statuses[Math.min(questions, statuses.length - 1)] ?? 500) : 404).end();
    questions += 1;
  });
  onTestFinished(() => server.stop());
  const actual = createHash('sha256').update('a package').digest('hex');
  const ended = await runScript(
    'deploy-package.sh',
    ['az', az],
    {
      AZURE_RESOURCE_GROUP: 'rg-ridge',
      SERVICE_API_NAME: 'func-ridge',
      SERVICE_API_URL: `http://127.0.0.1:${server.port}`,
      RELEASE: 'v1.2.3',
      ENVIRONMENT: 'staging',
      DEPLOY_SECONDS: '600',
      HEALTH_PAUSE_SECONDS: '0.01',
    },
    { 'package.zip': 'a package', 'package.zip.sha256': `${digest || actual}  package.zip\n` },
  );
  return { ...ended, questions };
};

const HOW_TO_ROLL_BACK =
  'To roll back: gh workflow run deploy.yml --ref <the release before> --field environment=staging';

// The scripts run on GitHub's Linux machines only.
describe.skipIf(process.platform === 'win32')('the script that deploys', () => {
  it('deploys the package once, and is content when the app has been healthy for a while', async () => {
    const { code, printed, asked, questions } = await deploy([503, 200, 200, 503, 200]);
    expect(printed).toContain('v1.2.3 is deployed and healthy.');
    expect([code, questions]).toEqual([0, 4 + 6]);
    expect(asked).toEqual([
      expect.stringMatching(
        /^functionapp deployment source config-zip .*--resource-group rg-ridge --name func-ridge --src package\.zip --build-remote false/,
      ),
    ]);
  });

  it('fails and says how to roll back where the app does not get healthy', async () => {
    const { code, printed } = await deploy([200, 200, 200, 200, 200, 503]);
    expect(printed).toContain(`v1.2.3 is deployed and not healthy. ${HOW_TO_ROLL_BACK}`);
    expect(code).toBe(1);
  });

  it('does not deploy a package that is not the one that was released', async () => {
    expect(await deploy([200], { digest: '0'.repeat(64) })).toMatchObject({ code: 1, asked: [] });
  });

  it('says how to roll back, and does not ask the old version for its health if az fails', async () => {
    const { code, printed, questions } = await deploy([200], { az: 'exit 1' });
    expect(printed).toContain(HOW_TO_ROLL_BACK);
    expect([code, questions]).toEqual([1, 0]);
  });
});

const fetchRelease = async (release: string, verifies: string, attested = 'true') =>
  runScript('fetch-release.sh', ['gh', `if [ "$1" = attestation ]; then ${verifies}; fi`], {
    RELEASE: release,
    ATTESTED: attested,
    GH_REPO: 'owner/repository',
  });

describe.skipIf(process.platform === 'win32')('the script that fetches a release', () => {
  it.each([
    ['exit 0', 0],
    ['exit 1', 1],
  ])('fetches the package of a tag and checks its provenance: %s', async (verifies, code) => {
    expect(await fetchRelease('v1.2.3', verifies)).toMatchObject({
      code,
      asked: [
        'release download v1.2.3 --pattern package.zip*',
        'attestation verify package.zip --repo owner/repository',
      ],
    });
  });

  it('says so where the repository has no attestations, and deploys all the same', async () => {
    const { code, asked, printed } = await fetchRelease('v1.2.3', 'exit 1', 'false');
    expect([code, asked]).toEqual([0, ['release download v1.2.3 --pattern package.zip*']]);
    expect(printed).toContain('This repository has no attestations');
  });

  it.each(['main', 'v', 'v1 --repo=x'])('takes %s for no release', async (name) => {
    expect(await fetchRelease(name, 'exit 0')).toMatchObject({ code: 1, asked: [] });
  });
});

it.skipIf(process.platform === 'win32')(
  'every address and number that gets alerts is masked on its own, and no country code',
  async () => {
    const { code, printed } = await runScript('mask-receivers.sh', ['az', ''], {
      ALERT_EMAIL: 'a@example.org, b@example.org',
      ALERT_SMS: '1 2065550100,64 211234567',
      ALERT_WEBHOOK: 'https://hooks.example.org/x?y=1',
    });
    const masked = ['a@example.org', 'b@example.org', '2065550100', '211234567', 'https://hooks.example.org/x?y=1'];
    expect([code, printed.trim().split('\n')]).toEqual([0, masked.map((part) => `::add-mask::${part}`)]);
  },
);
