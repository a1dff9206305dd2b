/** The panels in the order of the page. */
import type { Panel } from "../panel";
import { bind } from "./bind";
import { correct } from "./correct";
import { decompose } from "./decompose";
import { jiggle } from "./jiggle";
import { retarget } from "./retarget";
import { simplify } from "./simplify";

export const PANELS: readonly Panel[] = [decompose, bind, correct, jiggle, simplify, retarget];
