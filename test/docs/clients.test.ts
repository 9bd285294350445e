import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { cloudEvent } from '../http/cloud-event.ts';
import { ScriptedService } from '../send/scripted-service.ts';
import { readText } from './markdown.ts';

/** The code of a language on the integrators' page. */
const codeIn = (language: string): string => {
  const [, code] = new RegExp(`\`\`\`${language}\n([^]*?)\n\`\`\``).exec(readText('src/http/README.md')) ?? [];
  if (code === undefined) throw new Error(`src/http/README.md has no ${language}`);
  return code;
};

const isHere = (program: string): boolean => {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** The events that each client sends: the second one is wrong. */
const EVENTS = JSON.stringify([
  cloudEvent({ data: { event_id: 'f-0' } }),
  { ...cloudEvent(), data: {} },
  cloudEvent({ data: { event_id: 'f-2' } }),
]);

/** A pause that nobody waits for, in seconds. */
const PAUSE = '0.05';

interface Client {
  readonly language: string;
  readonly needs: string;
  /** Where the code goes, with a line that calls it: it gets the service and a file with the events, and prints the answer. */
  readonly files: (code: string) => Readonly<Record<string, string>>;
  readonly command: readonly [string, ...string[]];
}

const PROJECT = `<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><OutputType>Exe</OutputType>
  <TargetFramework>net$(BundledNETCoreAppTargetFrameworkVersion)</TargetFramework>
  <ImplicitUsings>enable</ImplicitUsings><Nullable>enable</Nullable></PropertyGroup></Project>`;

const CLIENTS: readonly Client[] = [
  {
    language: 'python',
    needs: 'python3',
    files: (code) => ({
      'client.py': `${code}\nimport sys\nprint(json.dumps(send(json.load(open("events.json")), sys.argv[1], "k", ${PAUSE})))`,
    }),
    command: ['python3', 'client.py'],
  },
  {
    language: 'js',
    needs: process.execPath,
    files: (code) => ({
      'client.mjs': `import { readFileSync } from 'node:fs';\n${code}\nconst events = JSON.parse(readFileSync('events.json'));
console.log(JSON.stringify(await send(events, process.argv[2], 'k', ${PAUSE})));`,
    }),
    command: [process.execPath, 'client.mjs'],
  },
  {
    language: 'csharp',
    needs: 'dotnet',
    files: (code) => ({
      'client.csproj': PROJECT,
      'client.cs': `using var http = new HttpClient { BaseAddress = new Uri(args[0]) };
http.DefaultRequestHeaders.Add("x-functions-key", "k");
Console.WriteLine(await Send(http, File.ReadAllText("events.json"), ${PAUSE}));\n${code}`,
    }),
    command: ['dotnet', 'run', '--project', 'client.csproj', '--'],
  },
];

const answerSchema = z.object({ recorded: z.number(), unchanged: z.number(), errors: z.array(z.unknown()) });

describe('the client on the page for integrators', () => {
  for (const { language, needs, files, command } of CLIENTS) {
    const here = isHere(needs);
    const title = here ? language : `${language} (skipped: ${needs} is not on this machine)`;
    it.skipIf(!here)(
      `${title} goes on through a lost connection and a 503, and gets the answer about a wrong event`,
      async () => {
        const service = await ScriptedService.start(({ number, headers }) => {
          if (number === 1) return 'reset';
          if (number === 2) return { status: 503, headers: { 'retry-after': '0' }, body: '{}' };
          return headers['x-functions-key'] === 'k' ? 'record' : { status: 401 };
        });
        const directory = await mkdtemp(join(tmpdir(), 'wildfire-client-'));
        onTestFinished(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
        const written = { ...files(codeIn(language)), 'events.json': EVENTS };
        for (const [name, text] of Object.entries(written)) await writeFile(join(directory, name), text);
        const [program, ...args] = command;
        const { stdout } = await promisify(execFile)(program, [...args, service.url], { cwd: directory });
        const answer = answerSchema.parse(JSON.parse(stdout));
        expect(answer).toMatchObject({ recorded: 2, unchanged: 0, errors: [{ index: 1 }] });
        expect([...service.times]).toMatchObject([
          ['f-0', 1],
          [expect.anything(), 1],
          ['f-2', 1],
        ]);
        expect(service.requests).toBe(3);
      },
      90_000,
    );
  }
});
