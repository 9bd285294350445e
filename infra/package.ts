/** `npm run package`: the folder `package/`, which is all that Azure gets. */
import { makePackage } from './make-package.ts';

await makePackage('package');
