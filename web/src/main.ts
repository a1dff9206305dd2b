/** Entry point of the view page. */
import { startPage } from "./app";

startPage();
