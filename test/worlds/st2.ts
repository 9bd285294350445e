import { Chance } from './chance.ts';
import { drawForm } from './counting/form.ts';
const b=[]; for (let s=1;s<=2000;s++) if (drawForm(new Chance(`the world, ${s}`)).questionsOfEach===12) b.push(s);
console.log(b.length, b.slice(0,40).join(' '));
