/**
 * `npm run screenshot`: takes a picture of the dashboard of a running service, as a person sees it. Without options, the picture in
 * the README: `npm start`, `npm run demo` and then this. A local run has people phoned by its simulator first: no picture without them.
 */
import { z } from 'zod';

import { dayOption, numberOption, runCommand, urlOption } from './command-line.ts';
import { takePicture } from './screenshot/picture.ts';

const DAY_MILLISECONDS = 86_400_000;

const SCREENSHOT = {
  help: `npm run screenshot -- [--url URL] [--date YYYY-MM-DD] [--out FILE] [--theme light|dark] [--width N] [--height N]
  Takes a picture of the dashboard of a running service, PNG. Where that is a local run with a simulated phone, some people are
  phoned first, once a day, so that there are notifications to see, and the newest one is open.
  --url URL          the service, without /api; http://localhost:7071 by default
  --date YYYY-MM-DD  the UTC day to show; yesterday by default, which npm run demo fills
  --out FILE         where the picture goes; src/dashboard/screenshot.png by default, the one in the README
  --theme THEME      light or dark; light by default
  --width N          of the window, 320 to 3840 pixels; 1600 by default
  --height N         of the picture, 320 to 20000 pixels; the whole page by default`,
  options: {
    url: { type: 'string', default: 'http://localhost:7071' },
    date: { type: 'string', default: new Date(Date.now() - DAY_MILLISECONDS).toISOString().slice(0, 10) },
    out: { type: 'string', default: 'src/dashboard/screenshot.png' },
    theme: { type: 'string', default: 'light' },
    width: { type: 'string', default: '1600' },
    height: { type: 'string' },
  },
  values: z.object({
    url: urlOption,
    date: dayOption,
    out: z.string().min(1, '--out needs a file.'),
    theme: z.enum(['light', 'dark'], { error: ({ input }) => `${String(input)} is no theme: light or dark.` }),
    width: numberOption('width', 320, 3_840),
    height: numberOption('height', 320, 20_000).optional(),
  }),
} as const;

await runCommand(SCREENSHOT, takePicture);
