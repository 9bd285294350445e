import { startPage } from './start-page.tsx';

const root = document.querySelector('#page');
if (root === null) throw new TypeError('the document has no #page');
startPage(root);
